import { describe, expect, it } from '@jest/globals'
import { neededOf } from '../../../src/dashboard/tasks/needed-slots.ts'
import type { LoadBody } from '../../../src/protocol/index.ts'

const LOAD: LoadBody = {
  ts: 1,
  window_seconds: 60,
  pending: 3,
  in_flight: 4,
  scheduled_due: 0,
  backlog: 7,
  oldest_wait_seconds: 1,
  arrivals_per_second: 2,
  completions_per_second: 2,
  mean_run_seconds: 1.5,
  slots: 6,
  workers: 3,
  wanted_slots: 5,
  wanted_workers: 3,
}
const SLOTS = { ...LOAD, wanted_slots: 6 }

describe('the slots that a queue needs', () => {
  it('are known from the mean run time, and 0 for a queue without tasks', () => {
    expect(neededOf(LOAD)).toEqual({ kind: 'known', slots: 5 })
    const idle = { ...LOAD, backlog: 0, arrivals_per_second: 0, mean_run_seconds: null, wanted_slots: 0 }
    expect(neededOf(idle)).toEqual({ kind: 'known', slots: 0 })
  })

  it('are unknown without it, although the master advises the present slots', () => {
    expect(neededOf({ ...SLOTS, mean_run_seconds: null })).toEqual({
      kind: 'unknown',
      why: 'Needed slots: unknown, because no run has ended in the last 60 s.',
    })
    expect(neededOf({ ...SLOTS, mean_run_seconds: null, arrivals_per_second: null })).toEqual({
      kind: 'unknown',
      why: 'Needed slots: unknown until the master has counted for a minute.',
    })
  })
})
