/** What a draining worker still runs, and how long that takes (D196). */
import { describe, expect, it } from '@jest/globals'
import { estimateText, runningSlots } from '../../../src/dashboard/worker/drain-left.ts'
import type { Stats } from '../../../src/protocol/index.ts'

const stats = (per_slot: Stats['per_slot']): Stats => ({
  slots: per_slot.length,
  cpu_pct: 0,
  rss_mb: 1,
  ts: 100,
  metrics: {},
  per_slot,
})
const slot = (id: number, more: Partial<Stats['per_slot'][number]> = {}): Stats['per_slot'][number] => ({
  slot_id: id,
  age_seconds: 50,
  counters: {},
  ...more,
})

describe('runningSlots', () => {
  it('returns the task of each slot and for how long it runs, the longest first', () => {
    expect(runningSlots(stats([slot(0, { task_id: 'a', task_seconds: 2 }), slot(3)]), 104)).toEqual([
      { slot: 3, task: null, seconds: 54 },
      { slot: 0, task: 'a', seconds: 6 },
    ])
    expect(runningSlots(null, 104)).toEqual([])
  })
})

describe('estimateText', () => {
  const run = { count: 9, p50: 5, p95: 60, p99: 90 }
  const running = (seconds: number) => ({ slot: 0, task: 'a', seconds })
  it.each([
    ['nothing runs', [], run, /^$/],
    ['no run has ended', [running(1)], null, /^There is no estimate/],
    [
      'all are within the usual time',
      [running(10), running(40)],
      run,
      /at most 1 min, so it should end within 50 s\.$/,
    ],
    ['one takes longer', [running(70), running(4)], run, /\. 1 slot has run for longer, so there is no estimate\.$/],
  ])('says how long the drain may last if %s', (_, slots, times, text) => {
    expect(estimateText(slots, times)).toMatch(text)
  })
})
