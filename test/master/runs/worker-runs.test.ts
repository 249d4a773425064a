import { describe, expect, it } from '@jest/globals'
import { countRuns } from '../../../src/master/runs/worker-runs.ts'

type Counters = Readonly<Record<string, number>>
const frame = (ts: number, gen: number, counters: Counters = {}): string =>
  JSON.stringify({
    slots: 1,
    cpu_pct: 1.5,
    rss_mb: 90,
    ts,
    per_slot: [{ slot_id: 0, age_seconds: 1, counters: {} }],
    metrics: {
      ...Object.fromEntries(Object.entries(counters).map(([name, value]) => [`counter.muster.${name}`, value])),
      'gauge.muster.config_gen': gen,
    },
  })

describe('the runs of a worker (D151)', () => {
  it('are what its counters grew by', () => {
    const frames = [
      frame(0, 4, { runs_ok: 100, runs_failed: 7 }),
      frame(15, 4, { runs_ok: 160, runs_failed: 7 }),
      frame(30.5, 4, { runs_ok: 190, runs_failed: 9, runs_died: 1, last_error_runs: 5 }),
    ]
    expect(countRuns(frames, 0, null)).toEqual({
      windowSeconds: 30.5,
      done: 90,
      failed: 2,
      died: 1,
      config: { done: 190, failed: 9 },
      lastErrorRuns: 5,
    })
  })

  it('are those under the newest config, which restarts the counters', () => {
    const frames = [
      frame(0, 4, { runs_failed: 7 }),
      frame(15, 4, { runs_failed: 9 }),
      frame(18, 5, { runs_failed: 30, last_error_runs: 30 }),
      frame(33, 5, { runs_failed: 200, last_error_runs: 200 }),
    ]
    expect(countRuns(frames, 0, null)).toMatchObject({ windowSeconds: 18, done: 0, failed: 200, died: 0 })
  })

  it('are those of the newest process, whose counters are lower', () => {
    const frames = [frame(0, 4, { runs_ok: 100, runs_failed: 50 }), frame(15, 4, { runs_ok: 3, runs_failed: 1 })]
    expect(countRuns(frames, 0, null)).toMatchObject({ windowSeconds: 15, done: 3, failed: 1, died: null })
  })

  it('of a single frame are its counters since the start of the worker, at most 75 s', () => {
    expect(countRuns([frame(1_010, 0, { runs_ok: 3 })], 1_000, null)).toMatchObject({
      windowSeconds: 10,
      done: 3,
      failed: 0,
    })
    expect(countRuns([frame(1_010, 0, { slot_failures: 3 })], 0, null)).toMatchObject({ windowSeconds: 75, failed: 3 })
  })

  it('are not known yet while the newest frame is of another config than the applied one', () => {
    const frames = [frame(0, 4, { runs_failed: 7 }), frame(15, 4, { runs_failed: 700 })]
    expect(countRuns(frames, 0, 4)).toMatchObject({ failed: 693, windowSeconds: 15 })
    expect(countRuns(frames, 0, 5)).toMatchObject({ failed: 0, windowSeconds: 0 })
  })

  it('are none in no time without reserved metrics', () => {
    const none = { windowSeconds: 0, done: 0, failed: 0, died: null }
    expect(countRuns([], 0, null)).toMatchObject(none)
    const frames = ['{"slots":1,"cpu_pct":1,"rss_mb":1,"ts":1,"per_slot":[],"metrics":{}}']
    expect(countRuns(frames, 0, null)).toMatchObject(none)
  })
})
