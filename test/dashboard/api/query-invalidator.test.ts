import { describe, expect, it } from '@jest/globals'
import { QueryInvalidator } from '../../../src/dashboard/api/query-invalidator.ts'
import type { ReadKey } from '../../../src/dashboard/api/stale-keys.ts'
import { overviewWith, withTotals, type LatestQueueTotals } from '../../../src/dashboard/api/queue-totals.ts'
import type { OverviewBody, QueueTotals } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const QUIET: QueueTotals = {
  high: 0,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
}
const totals = (type: string, queue = QUIET) => ({ name: 'queue.totals', data: { type, queue } })
const state = (id: string) => ({ name: 'worker.state', data: { type: 'mailer', worker_id: id } })

function setUp() {
  const time = new VirtualTime()
  const read: string[] = []
  const invalidator = new QueryInvalidator({
    refresh: (key: ReadKey | 'all') => read.push(key === 'all' ? key : key.join('/')),
    localMs: time.wallMs,
    after: time.after,
  })
  return { time, invalidator, times: (name: string): number => read.filter((each) => each === name).length }
}

describe('a query that events made stale', () => {
  it('is reloaded immediately, then at most every two seconds', async () => {
    const { time, invalidator, times } = setUp()
    invalidator.onEvents([state('m-1')])
    expect(times('worker/mailer/m-1')).toBe(1)
    for (let n = 0; n < 20; n += 1) {
      await time.advance(250)
      invalidator.onEvents([state('m-1')])
    }
    expect(times('worker/mailer/m-1')).toBe(3)
  })

  it('is reloaded once more, for the overview, when the master has recomputed it (D48)', async () => {
    const { time, invalidator, times } = setUp()
    invalidator.onEvents([state('m-1')])
    await time.advance(4_999)
    expect(times('overview')).toBe(1)
    await time.advance(1)
    expect(times('overview')).toBe(2)
    await time.advance(60_000)
    expect(times('overview')).toBe(2)
  })

  it('is not reloaded after the end', async () => {
    const { time, invalidator, times } = setUp()
    invalidator.onEvents([state('m-1'), totals('mailer')])
    invalidator.onEvents([state('m-1')])
    invalidator.end()
    await time.advance(60_000)
    expect([times('overview'), times('worker/mailer/m-1')]).toEqual([1, 1])
  })
})

describe('an overview that was computed before an event', () => {
  const overview = (dead: number): OverviewBody => ({
    ts: 1,
    automations: {
      mailer: {
        kind: 'BatchAutomation',
        workers: { total: 0, connected: 0, behind: 0, IDLE: 0, RUNNING: 0, ERROR: 0, DRAINING: 0 },
        slots: 0,
        queue: { ...QUIET, dead },
        stream: { length: 0 },
      },
      probe: {
        kind: 'ContinuousAutomation',
        workers: { total: 0, connected: 0, behind: 0, IDLE: 0, RUNNING: 0, ERROR: 0, DRAINING: 0 },
        slots: 0,
        queue: null,
        stream: { length: 0 },
      },
    },
  })
  const totalsByType: LatestQueueTotals = withTotals(
    {},
    [totals('mailer', { ...QUIET, dead: 9 }), totals('mailer'), totals('probe'), totals('gone'), state('m-1')],
    10_000,
  )

  it('shows the queue totals of the latest event', () => {
    expect(overviewWith(overview(3), 9_000, totalsByType)).toEqual(overview(0))
    expect(overviewWith(overview(3), 14_999, totalsByType)).toEqual(overview(0))
  })

  it('is used unchanged once the master must have recomputed it', () => {
    const read = overview(3)
    expect(overviewWith(read, 15_000, totalsByType)).toBe(read)
  })

  it('stays the same object without queue events', () => {
    const read = overview(3)
    expect(overviewWith(read, 9_000, {})).toBe(read)
    expect(withTotals(totalsByType, [state('m-1')], 20_000)).toBe(totalsByType)
  })
})
