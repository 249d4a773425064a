/** The peer's worker as its documentation advises: one process, concurrency 100, finished jobs removed. */
import { appendFileSync } from 'node:fs'
import { Worker } from 'bullmq'

const [port, ids] = process.argv.slice(2)
const done = []
const worker = new Worker('noop', async (job) => void done.push(job.id), { connection: { host: '127.0.0.1', port: Number(port) }, concurrency: 100 })
worker.on('error', (error) => process.stderr.write(`${error.message}\n`))
const end = async () => {
  await worker.close()
  appendFileSync(ids, `${done.join('\n')}\n`)
}
process.on('SIGTERM', () => void end())
await worker.waitUntilReady()
process.stdout.write('ready\n')
