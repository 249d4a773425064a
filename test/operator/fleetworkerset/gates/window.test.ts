/** Tests windows: differences of two reads of a tally, of which the first one was stored. */
import { describe, expect, it } from '@jest/globals'
import { RUN_MS_BUCKETS } from '../../../../src/protocol/index.ts'
import {
  countersOf,
  isSnapshotFor,
  snapshotOf,
  windowBetween,
  type Gates,
} from '../../../../src/operator/fleetworkerset/gates/index.ts'

const RUN_SECONDS: Gates = { runSeconds: { quantile: 'p95', maxRatio: '1.3' } }
const COUNTERS: Gates = {
  counters: [
    { name: 'http_5xx', maxRatio: '1.5' },
    { name: 'slot_failures', maxRatio: '1' },
  ],
}

describe('countersOf', () => {
  it('names only what the gates read', () => {
    expect(countersOf({})).toEqual(['runs_ok', 'runs_failed'])
    expect(countersOf(COUNTERS)).toEqual([
      'runs_ok',
      'runs_failed',
      'worker_seconds',
      'counter.http_5xx',
      'slot_failures',
    ])
    const buckets = countersOf(RUN_SECONDS).filter((name) => name.startsWith('run_ms_le.'))
    expect(buckets).toHaveLength(RUN_MS_BUCKETS)
    expect(buckets).toContain('run_ms_le.0')
    expect(buckets).toContain('run_ms_le.87')
  })
})

describe('snapshotOf', () => {
  it('has each covered counter, and of the buckets those above 0', () => {
    const tally = { runs_ok: 5, 'run_ms_le.12': 3, 'run_ms_le.13': 0, 'counter.other': 7, error_entries: 1 }
    expect(snapshotOf(RUN_SECONDS, tally)).toEqual({ runs_ok: 5, runs_failed: 0, 'run_ms_le.0': 0, 'run_ms_le.12': 3 })
  })

  it('fits the gates it was taken for, and not gates that need more', () => {
    const snapshot = snapshotOf({}, {})
    expect(isSnapshotFor({ minRuns: 3, failureRate: { max: '0.5' } }, snapshot)).toBe(true)
    expect(isSnapshotFor(RUN_SECONDS, snapshot)).toBe(false)
    expect(isSnapshotFor(COUNTERS, snapshot)).toBe(false)
    expect(isSnapshotFor({}, snapshotOf(COUNTERS, {}))).toBe(true)
    expect(isSnapshotFor({ counters: [{ name: 'b', maxRatio: '1' }] }, snapshotOf(COUNTERS, {}))).toBe(false)
  })
})

describe('windowBetween', () => {
  it('is the increase of each counter', () => {
    expect(windowBetween({ runs_ok: 5, runs_failed: 2 }, { runs_ok: 9, runs_failed: 2 })).toEqual({
      runs_ok: 4,
      runs_failed: 0,
    })
  })

  it('takes a counter that is new, or that the master lost, as the increase', () => {
    expect(windowBetween({ runs_ok: 5 }, { runs_ok: 3, runs_failed: 2 })).toEqual({ runs_ok: 3, runs_failed: 2 })
    expect(windowBetween({ runs_ok: 5 }, {})).toEqual({})
  })

  it('is exact up to 2^53', () => {
    expect(windowBetween({ a: 1 }, { a: Number.MAX_SAFE_INTEGER })).toEqual({ a: Number.MAX_SAFE_INTEGER - 1 })
    expect(windowBetween({ a: 0.5 }, { a: 60.25 })).toEqual({ a: 59.75 })
  })
})
