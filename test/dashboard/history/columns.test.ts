import { describe, expect, it } from '@jest/globals'
import type { FleetHistoryStep, QueueHistoryStep } from '../../../src/protocol/index.ts'
import { axisText, durationText, figureText } from '../../../src/dashboard/charts/figures.ts'
import { byActivity, flowColumns, queueColumns } from '../../../src/dashboard/history/columns.ts'
import { RANGE_OF, RANGES } from '../../../src/dashboard/history/ranges.ts'
import { HISTORY_RESOLUTIONS, MAX_FLEET_HISTORY_STEPS, MAX_HISTORY_STEPS } from '../../../src/protocol/index.ts'

const step = (ts: number, more: Partial<QueueHistoryStep> = {}): QueueHistoryStep => ({
  ts,
  seconds: 15,
  submitted: 0,
  done: 0,
  failed: 0,
  died: 0,
  cancelled: 0,
  waiting: 0,
  high: 0,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_seconds: 0,
  wait: null,
  run: null,
  ...more,
})

describe('the columns of a history', () => {
  it('are rates a minute over what the counts cover, and nothing where they are not known', () => {
    const steps = [
      step(0, { seconds: null, submitted: null, done: null, failed: null, died: null }),
      step(15, { submitted: 3, done: 2 }),
      step(45, { seconds: 30, submitted: 3, failed: 1, died: 1 }),
    ]
    const { ts, panels } = queueColumns(steps, 15)
    expect(ts).toEqual([0, 15, 45])
    expect(panels[0]?.series).toEqual([
      { label: 'in', values: [null, 12, 6] },
      { label: 'done', values: [null, 8, 0] },
      { label: 'failed', values: [null, 0, 2] },
      { label: 'died', values: [null, 0, 2] },
    ])
  })

  it('are interrupted where steps are missing, but not while another master takes over', () => {
    const { ts, panels } = queueColumns(
      [step(0, { waiting: 1 }), step(45, { waiting: 2 }), step(105, { waiting: 3 })],
      15,
    )
    expect(ts).toEqual([0, 45, 60, 105])
    expect(panels[1]?.series[0]).toEqual({ label: 'all', values: [1, 2, null, 3] })
    expect(queueColumns([step(0), step(7_200)], 3_600).ts).toEqual([0, 7_200])
  })

  it('have the quantiles of wait and run times, and the age of the oldest task', () => {
    const wait = { count: 4, p50: 0.1, p95: 2, p99: 3 }
    const { panels } = queueColumns([step(0, { wait, oldest_seconds: 7 })], 15)
    expect(panels.slice(2).map(({ series }) => series.map(({ label, values }) => [label, values[0]]))).toEqual([
      [['age', 7]],
      [
        ['p50', 0.1],
        ['p95', 2],
        ['p99', 3],
      ],
      [
        ['p50', null],
        ['p95', null],
        ['p99', null],
      ],
    ])
  })
})

describe('the queues of the overview', () => {
  const quiet: FleetHistoryStep = { ts: 0, seconds: 15, submitted: 0, done: 0, failed: 0, died: 0, waiting: 9 }

  it('are those that did most first', () => {
    const automations = {
      idle: [quiet],
      b: [{ ...quiet, done: 1 }],
      a: [{ ...quiet, done: 1 }],
      busy: [{ ...quiet, failed: 5 }],
    }
    expect(byActivity(automations)).toEqual(['busy', 'a', 'b', 'idle'])
    expect(flowColumns('busy', automations.busy, 15).panels).toMatchObject([
      { name: 'busy', series: [{ label: 'in' }, { label: 'done' }, { label: 'failed', values: [20] }] },
    ])
  })
})

describe('the ranges', () => {
  it.each(RANGES)('%s has steps that are kept, and not too many', (range) => {
    const { seconds, step: stepSeconds } = RANGE_OF[range]
    expect(seconds / stepSeconds).toBeLessThan(MAX_HISTORY_STEPS)
    expect(seconds / stepSeconds).toBeLessThan(MAX_FLEET_HISTORY_STEPS * 2)
    const { stepMs, steps } = HISTORY_RESOLUTIONS.findLast((each) => (stepSeconds * 1_000) % each.stepMs === 0) ?? {
      stepMs: 0,
      steps: 0,
    }
    expect(seconds * 1_000).toBeLessThanOrEqual(stepMs * steps)
  })
})

describe('durations', () => {
  it('have one unit and two digits', () => {
    const texts = [0, 0.0011, 0.25, 1, 1.55, 59, 90, 3_600, 86_400, 864_000].map(durationText)
    expect(texts).toEqual(['0 s', '1.1 ms', '250 ms', '1 s', '1.6 s', '59 s', '1.5 min', '1 h', '1 d', '10 d'])
  })

  it('are short on axes, as are counts', () => {
    expect([axisText(12_500, ''), axisText(0.25, 'seconds'), axisText(300, '/min')]).toEqual(['12.5K', '250 ms', '300'])
    expect([figureText(0.25, 'seconds'), figureText(12.34, '/min'), figureText(null, 'seconds')]).toEqual([
      '250 ms',
      '12.3 /min',
      '–',
    ])
  })
})
