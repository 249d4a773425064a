/**
 * pg-boss: insert, then fetch and complete in batches of 100, which are its calls for processing without polling
 * delays.
 */
import { PgBoss } from 'pg-boss'
import { inFlight } from '../load.mjs'
import { startPostgres } from '../stores.mjs'
import { PAYLOAD } from './life.mjs'

const BATCH = 100
const CALLERS = 4

export async function openPgBoss() {
  const postgres = await startPostgres()
  const boss = new PgBoss({ ...postgres.address, max: 25, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('noop')
  return {
    add: async (n) => {
      if (n === 1) return [await boss.send('noop', PAYLOAD)]
      return boss.insert(
        'noop',
        Array.from({ length: n }, () => ({ data: PAYLOAD })),
        { returnId: true },
      )
    },
    drain: async (n) => {
      const done = []
      await inFlight(CALLERS, CALLERS, async () => {
        while (done.length < n) {
          const jobs = await boss.fetch('noop', { batchSize: BATCH })
          if (jobs.length === 0) return
          const ids = jobs.map(({ id }) => id)
          await boss.complete('noop', ids)
          for (const id of ids) done.push(id)
        }
      })
      return done
    },
    count: async () =>
      (await postgres.query("SELECT count(*)::int AS n FROM pgboss.job WHERE state < 'completed'"))[0].n,
    close: async () => {
      await boss.stop({ graceful: false })
      await postgres.stop()
    },
  }
}
