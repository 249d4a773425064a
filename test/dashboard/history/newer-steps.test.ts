import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { newerFrom, withNewerFleet, withNewerQueue } from '../../../src/dashboard/history/newer-steps.ts'
import { rangeOf, readFromMs, stepsOf } from '../../../src/master/queue/history.ts'
import { PEAKS } from '../../../src/master/queue/rollup-recorder.ts'
import type { QueueHistoryBody, QueueHistoryQuery } from '../../../src/protocol/index.ts'
import type { RollupStep } from '../../../src/storage/index.ts'

const STEP_MS = 15_000
const START_MS = 1_700_000_000_000 - (1_700_000_000_000 % 900_000)

/** Samples of a queue; false for a step without one. */
function rowsOf(sampled: readonly boolean[]): readonly RollupStep[] {
  return sampled.flatMap((isSampled, n): RollupStep[] => {
    const peaks = { [PEAKS.sampled]: 1, [PEAKS.submitted]: n * 3, [PEAKS.acked]: n * 2, [PEAKS.waiting]: n % 7 }
    return isSampled ? [{ startMs: START_MS + n * STEP_MS, sums: {}, peaks }] : []
  })
}

/** What the master returns at a time. */
function read(rows: readonly RollupStep[], query: QueueHistoryQuery, nowMs: number): QueueHistoryBody {
  const range = rangeOf(query, nowMs, 1_000)
  const stored = rows.filter(({ startMs }) => startMs >= readFromMs(range) && startMs < Math.min(range.toMs, nowMs))
  const [from, to, step] = [range.fromMs, range.toMs, range.stepMs].map((ms) => ms / 1_000) as [number, number, number]
  return { from, to, step, steps: stepsOf(stored, range) }
}

describe('a history to which new steps are appended', () => {
  it('is what a read of all of it returns, whatever is missing', () => {
    const lengths = fc.constantFrom(15, 30, 60)
    const samples = fc.array(
      fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      {
        minLength: 90,
        maxLength: 90,
      },
    )
    fc.assert(
      fc.property(
        samples,
        lengths,
        fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 12 }),
        (sampled, step, waits) => {
          const rows = rowsOf(sampled)
          let nowMs = START_MS + 40 * STEP_MS
          let known = read(rows, { seconds: 600, step }, nowMs)
          for (const wait of waits) {
            nowMs += wait * 1_000
            const from = newerFrom(known, [known.steps])
            const whole = read(rows, { seconds: 600, step }, nowMs)
            known = from === null ? whole : withNewerQueue(known, read(rows, { from, step }, nowMs))
            // The counts of its first step may begin at a sample that the range no longer has.
            expect(known.steps.slice(1)).toEqual(whole.steps.slice(1))
            expect([known.from, known.to]).toEqual([whole.from, whole.to])
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('is read from a minute before its newest step', () => {
    const steps = Array.from({ length: 20 }, (_, n) => ({ ts: 600 + n * 30, waiting: 1 }))
    const range = { from: 600, to: 1_200, step: 30 }
    expect(newerFrom(range, [steps, []])).toBe(1_110)
    expect(newerFrom(range, [steps, steps.slice(0, 10)])).toBeNull()
    expect(newerFrom(range, [steps.map((each) => ({ ...each, waiting: null }))])).toBeNull()
    expect(newerFrom(range, [[], []])).toBeNull()
  })

  it('has the steps of every queue', () => {
    const flows = { seconds: 30, submitted: 1, done: 1, failed: 0, died: 0 }
    const steps = (...times: readonly number[]) => times.map((ts) => ({ ts, waiting: 1, ...flows }))
    const known = { from: 0, to: 120, step: 30, automations: { a: steps(0, 30, 60, 90), b: [] } }
    const newer = { from: 30, to: 150, step: 30, automations: { a: steps(30, 60, 90, 120), b: steps(120) } }
    const { from, to, automations } = withNewerFleet(known, newer)
    expect([from, to]).toEqual([30, 150])
    expect(Object.entries(automations).map(([type, list]) => [type, list.map(({ ts }) => ts)])).toEqual([
      ['a', [30, 60, 90, 120]],
      ['b', [120]],
    ])
  })
})
