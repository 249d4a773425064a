/** BullMQ as its documentation recommends: addBulk, one Worker with a concurrency, finished jobs removed. */
import { Queue, Worker } from 'bullmq'
import { redisCosts, startRedis } from '../stores.mjs'
import { PAYLOAD } from './life.mjs'

/**
 * Its documentation recommends 100 to 300. Of 50, 100, 200 and 500, this value costs the least CPU time, here and in
 * Redis.
 */
const CONCURRENCY = 200

export async function openBullmq(bench, { appendfsync }) {
  const redis = await startRedis(bench.directory, { appendfsync })
  const connection = { host: '127.0.0.1', port: redis.port }
  const queue = new Queue('noop', { connection, defaultJobOptions: { removeOnComplete: true } })
  const worker = new Worker('noop', async () => null, {
    connection: { ...connection, maxRetriesPerRequest: null },
    concurrency: CONCURRENCY,
    autorun: false,
  })
  const failed = new Promise((_, reject) => worker.on('error', reject))
  failed.catch(() => {})
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    add: async (n) => {
      if (n === 1) return [(await queue.add('noop', PAYLOAD)).id]
      return (await queue.addBulk(Array.from({ length: n }, () => ({ name: 'noop', data: PAYLOAD })))).map(
        ({ id }) => id,
      )
    },
    drain: (n) =>
      new Promise((resolve, reject) => {
        const done = []
        worker.on('completed', ({ id }) => {
          done.push(id)
          if (done.length === n) setImmediate(resolve, done) // A duplicate is still counted.
        })
        failed.catch(reject)
        worker.run().catch(reject)
      }),
    count: async () => Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0),
    costs: () => redisCosts(redis.port),
    close: async () => {
      await worker.close()
      await queue.close()
      await redis.stop()
    },
  }
}
