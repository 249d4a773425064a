/**
 * bee-queue as its documentation recommends: saveAll, no events without listeners, no jobs kept in memory or in Redis.
 */
import BeeQueue from 'bee-queue'
import { redisCosts, startRedis } from '../stores.mjs'
import { PAYLOAD } from './life.mjs'

const CONCURRENCY = 100

export async function openBeeQueue(bench, { appendfsync }) {
  const redis = await startRedis(bench.directory, { appendfsync })
  const settings = {
    redis: { host: '127.0.0.1', port: redis.port },
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
  }
  const queue = new BeeQueue('noop', { ...settings, isWorker: false })
  const worker = new BeeQueue('noop', settings)
  await Promise.all([queue.ready(), worker.ready()])
  await worker.checkStalledJobs(5_000)
  return {
    add: async (n) => {
      if (n === 1) return [(await queue.createJob(PAYLOAD).save()).id]
      const jobs = Array.from({ length: n }, () => queue.createJob(PAYLOAD))
      const errors = await queue.saveAll(jobs)
      if (errors.size > 0) throw errors.values().next().value
      return jobs.map(({ id }) => id)
    },
    drain: (n) =>
      new Promise((resolve, reject) => {
        const done = []
        worker.on('error', reject)
        worker.on('succeeded', ({ id }) => {
          done.push(id)
          if (done.length === n) setImmediate(resolve, done)
        })
        worker.process(CONCURRENCY, async () => null)
      }),
    count: async () => {
      const { waiting, active, succeeded, failed, delayed } = await queue.checkHealth()
      return waiting + active + succeeded + failed + delayed
    },
    costs: () => redisCosts(redis.port),
    close: async () => {
      await Promise.all([worker.close(0).catch(() => {}), queue.close(0)])
      await redis.stop()
    },
  }
}
