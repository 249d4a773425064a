import { describe, expect, it } from '@jest/globals'
import type { AppliedConfig, EndedRun } from '../../src/automation/index.ts'
import { RunCounters } from '../../src/worker/run-counters.ts'

const config = (): AppliedConfig => ({ enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 })
const run = (of: AppliedConfig, outcome: EndedRun['outcome'], ms = 1_000): EndedRun => ({ config: of, outcome, ms })

describe('the counters of runs (D137)', () => {
  it('count runs by their end and by their duration, which an interrupted run has not', () => {
    const [counters, applied] = [new RunCounters(true), config()]
    counters.applied(applied)
    for (const ms of [1_000, 1_000, 3]) counters.runEnded(run(applied, 'ok', ms))
    counters.runEnded(run(applied, 'failed', 3))
    counters.runEnded(run(applied, 'released', 50))
    counters.slotFailed()
    expect(counters.snapshot()).toEqual({
      'counter.muster.runs_ok': 3,
      'counter.muster.runs_failed': 1,
      'counter.muster.runs_released': 1,
      'counter.muster.slot_failures': 1,
      'counter.muster.run_ms_le.7': 2,
      'counter.muster.run_ms_le.40': 2,
    })
  })

  it('restart with each config, and leave out runs that began under an earlier one', () => {
    const [counters, first, second] = [new RunCounters(true), config(), config()]
    counters.runEnded(run(first, 'ok')) // Before any config.
    counters.applied(first)
    counters.runEnded(run(first, 'failed'))
    counters.applied(second)
    expect(counters.snapshot()).toEqual({})
    counters.runEnded(run(first, 'failed'))
    expect(counters.snapshot()).toEqual({})
    counters.runEnded(run(second, 'ok', 1))
    expect(counters.snapshot()).toEqual({ 'counter.muster.runs_ok': 1, 'counter.muster.run_ms_le.0': 1 })
  })

  it('count the tasks that died, and the failed runs with the newest error, whatever numbers it has (D151)', () => {
    const [counters, applied] = [new RunCounters(true), config()]
    counters.applied(applied)
    for (const error of ['timeout after 31 ms', 'refused', 'timeout after 7 ms'])
      counters.runEnded({ ...run(applied, 'failed', 1), error })
    counters.taskDied()
    expect(counters.snapshot()).toMatchObject({
      'counter.muster.runs_failed': 3,
      'counter.muster.runs_died': 1,
      'counter.muster.last_error_runs': 2,
    })
    for (let n = 0; n < 20; n += 1) counters.runEnded({ ...run(applied, 'failed', 1), error: 'x'.repeat(n) })
    counters.runEnded({ ...run(applied, 'failed', 1), error: 'refused' })
    expect(counters.snapshot()).toMatchObject({ 'counter.muster.last_error_runs': 1 }) // Dropped meanwhile.
    counters.applied(config())
    expect(counters.snapshot()).toEqual({})
  })

  it('report the first failure under each config (D151)', () => {
    let failures = 0
    const [counters, applied] = [new RunCounters(true, () => void (failures += 1)), config()]
    counters.applied(applied)
    counters.runEnded(run(applied, 'ok'))
    expect(failures).toBe(0)
    counters.runEnded(run(applied, 'failed'))
    counters.runEnded(run(applied, 'failed'))
    expect(failures).toBe(1)
    counters.applied(config())
    counters.slotFailed()
    expect(failures).toBe(2)
  })

  it('of a continuous automation count only failures, which are those of a slot', () => {
    const [counters, applied] = [new RunCounters(false), config()]
    counters.applied(applied)
    counters.runEnded(run(applied, 'ok'))
    counters.runEnded(run(applied, 'failed'))
    expect(counters.snapshot()).toEqual({ 'counter.muster.slot_failures': 1 })
  })
})
