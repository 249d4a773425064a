/**
 * The worker of the peer as its documentation recommends: one process, concurrency 100, finished jobs removed.
 * Usage: bullmq-worker.mjs PORT QUEUE IDS; the queue is `noop`, `retry` or `held`, as in automations.mjs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'bullmq'
import { recorder } from './recorder.mjs'

const [port, queue, ids] = process.argv.slice(2)
const { ran, flush } = recorder(ids)

const RUN = {
  noop: async (job) => ran(job.id),
  retry: async (job) => {
    ran(`${job.id}/${job.attemptsMade}`)
    if (job.attemptsMade === 0) throw new Error('not yet')
  },
  held: async (job) => {
    ran(job.id)
    flush()
    await sleep(job.data.ms)
  },
}

const locks = queue === 'held' ? { lockDuration: 5_000, stalledInterval: 5_000 } : {}
const worker = new Worker(queue, RUN[queue], {
  connection: { host: '127.0.0.1', port: Number(port) },
  concurrency: 100,
  ...locks,
})
worker.on('error', (error) => process.stderr.write(`${error.message}\n`))
process.on('SIGTERM', () => void worker.close())
await worker.waitUntilReady()
process.stdout.write('ready\n')
