/**
 * graphile-worker with the settings of its performance page: 24 concurrent jobs, a local queue of 500, completions in
 * batches.
 */
import { EventEmitter } from 'node:events'
import { Logger, makeWorkerUtils, run, WorkerPreset } from 'graphile-worker'
import pg from 'pg'
import { until } from '../processes.mjs'
import { startPostgres } from '../stores.mjs'
import { PAYLOAD } from './life.mjs'

const SETTINGS = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const logger = new Logger(() => () => {})

export async function openGraphileWorker() {
  const postgres = await startPostgres()
  const pgPool = new pg.Pool({ ...postgres.address, max: SETTINGS.maxPoolSize })
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  const utils = await makeWorkerUtils({ pgPool, logger })
  await utils.migrate()
  const count = async () =>
    (await pgPool.query('SELECT count(*)::int AS n FROM graphile_worker._private_jobs')).rows[0].n
  let runner
  return {
    add: async (n) => {
      if (n === 1) return [(await utils.addJob('noop', PAYLOAD)).id]
      return (await utils.addJobs(Array.from({ length: n }, () => ({ identifier: 'noop', payload: PAYLOAD })))).map(
        ({ id }) => id,
      )
    },
    drain: async (n) => {
      const done = []
      const events = new EventEmitter()
      events.on('job:complete', ({ job }) => done.push(job.id))
      runner = await run({
        pgPool,
        logger,
        events,
        noHandleSignals: true,
        parsedCronItems: [],
        taskList: { noop: () => {} },
        preset: { extends: [WorkerPreset], worker: SETTINGS },
      })
      // Batches are reported before they are written.
      await until('every job is complete', async () => done.length >= n && (await count()) === 0)
      return done
    },
    count,
    close: async () => {
      await runner?.stop()
      await utils.release()
      await pgPool.end()
      await postgres.stop()
    },
  }
}
