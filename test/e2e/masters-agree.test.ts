/**
 * Two masters of the built command on one Redis, each with a worker: both give the same load, and count each run once
 * under its revision (D138, D139).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemTime } from '../../src/runtime/index.ts'
import { eventually } from '../kit/index.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import type { Fleet } from './fleet.ts'
import { Masters, record, submitMany, type WorkerRecord } from './masters.ts'

const WORKERS = ['w-0-0', 'w-1-0']
/** Of both workers. */
const SLOTS = 4
/** A master samples the queue every 5 s: each sees full slots at least once. */
const SAMPLE_MS = 5_000
const TASK_MS = 6_000
const TASKS = 2 * SLOTS

interface Load {
  readonly in_flight: number
  readonly slots: number
  readonly workers: number
  readonly wanted_slots: number
}
interface Revisions {
  readonly revisions: readonly { readonly revision: string; readonly counters: Readonly<Record<string, number>> }[]
}

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

const loadOf = (fleet: Fleet): Promise<Load> => fleet.ok('GET', '/automations/slow/load?target_wait_seconds=30')
const runsOf = async (fleet: Fleet): Promise<number | undefined> => {
  const { revisions } = await fleet.ok<Revisions>('GET', '/automations/slow/revisions')
  return revisions.find(({ revision }) => revision === 'r1')?.counters['runs_ok']
}

/** Stores a revision at one master, and brings both workers to it at the other. */
async function bring({ all: [one, other] }: Masters): Promise<void> {
  if (one === undefined || other === undefined) throw new RangeError('there are two masters')
  await one.ok('PUT', '/automations/slow/revisions/r1', { config: { enabled: true, slots: 2 } })
  const workers = await Promise.all(
    WORKERS.map(async (id) => {
      const { body, headers } = await other.call<WorkerRecord>('GET', `/automations/slow/workers/${id}`)
      return { worker_id: id, if_match: `${headers.get('muster-epoch')}.${body.config_gen}`, if_managed_by: null }
    }),
  )
  const { results } = await other.ok<{ results: readonly object[] }>('POST', '/automations/slow/configs', {
    revision: 'r1',
    workers,
  })
  expect(results).toEqual(WORKERS.map((id) => expect.objectContaining({ worker_id: id, config_gen: 1 })))
}

withRedisServer('two masters with one load', () => {
  describe('two masters on one Redis', () => {
    it('give the same load, and count each run of both their workers once', async () => {
      const masters = await Masters.start(2)
      open.push(() => masters.stop())
      WORKERS.forEach((id, place) => masters.worker(place, id))
      await eventually('both workers are connected', async () => {
        const records = await Promise.all(WORKERS.map((id) => record(masters.at(0), id))).catch(() => [])
        return records.length === WORKERS.length && records.every(({ connected }) => connected)
      })
      await bring(masters)
      await submitMany(
        masters.at(0),
        Array.from({ length: TASKS }, () => ({ ms: TASK_MS })),
      )
      for (const fleet of masters.all)
        await eventually('the load of both workers is known', async () => {
          const { in_flight, slots, workers, wanted_slots } = await loadOf(fleet)
          return slots === SLOTS && workers === WORKERS.length && in_flight === SLOTS && wanted_slots === SLOTS
        })
      for (const fleet of masters.all)
        await eventually('every run is counted', async () => (await runsOf(fleet)) === TASKS, { withinMs: 40_000 })
      await systemTime.sleep(2 * SAMPLE_MS) // A run that is counted twice would be added with the next frame.
      expect(await Promise.all(masters.all.map(runsOf))).toEqual([TASKS, TASKS])
    }, 150_000)
  })
})
