import { describe, expect, it } from '@jest/globals'
import type { JsonObject, Stats } from '../../../src/protocol/index.ts'
import { columnsOf, isRestart, withGapUntil, withNewer } from '../../../src/dashboard/charts/columns.ts'
import { csvOf, figuresOf, figureText } from '../../../src/dashboard/charts/figures.ts'

const frame = (ts: number, metrics: JsonObject = {}, per_slot: Stats['per_slot'] = []): Stats => ({
  ts,
  slots: 2,
  cpu_pct: ts,
  rss_mb: 300,
  metrics,
  per_slot,
})
const panelOf = (frames: readonly Stats[], name: string) =>
  columnsOf(frames).panels.find((panel) => panel.name === name)
const slot = (slot_id: number, age_seconds: number, counters: JsonObject = {}) => ({ slot_id, age_seconds, counters })

describe('the columns of a chart', () => {
  it('have a gap only where two frames are more than 45 s apart', () => {
    const { ts, panels } = columnsOf([frame(0), frame(45), frame(91), frame(100)])
    expect([ts, panels[0]?.series[0]?.values]).toEqual([
      [0, 45, 68, 91, 100],
      [0, 45, null, 91, 100],
    ])
  })

  it('continue up to now with a gap, so that a silent worker has no present values', () => {
    const data = columnsOf([frame(0), frame(15)])
    expect(withGapUntil(data, 60)).toBe(data)
    const { ts, panels } = withGapUntil(data, 61)
    expect(ts).toEqual([0, 15, 61])
    expect(panels.every(({ series }) => series.every(({ values }) => values.length === 3 && values[2] === null))).toBe(
      true,
    )
    expect(panels.map((panel) => figuresOf(panel.series[0] ?? { label: '', values: [] })?.now)).toEqual([
      null,
      null,
      null,
    ])
    const empty = columnsOf([])
    expect(withGapUntil(empty, 1_000)).toBe(empty)
  })

  it('leave out the reserved metrics of the worker itself (D137)', () => {
    const metrics = { 'counter.done': 1, 'gauge.muster.config_gen': 4, 'counter.muster.run_ms_le.7': 2 }
    const names = (frames: readonly Stats[]): readonly string[] => columnsOf(frames).panels.map(({ name }) => name)
    expect(names([frame(0, metrics)])).toEqual(names([frame(0, { 'counter.done': 1 })]))
  })

  it('are rates per second for a counter, with a gap where it decreased', () => {
    const frames = [
      frame(0, { 'counter.done': 10 }),
      frame(10, { 'counter.done': 30 }),
      frame(20, { 'counter.done': 5 }),
      frame(30, { 'counter.done': 5 }),
    ]
    expect(panelOf(frames, 'done')).toEqual({
      name: 'done',
      unit: 'per second',
      series: [{ label: 'done', values: [null, 2, null, 0] }],
    })
  })

  it('have no rate across a gap', () => {
    expect(
      panelOf(
        [frame(0, { 'counter.done': 0 }), frame(60, { 'counter.done': 60 }), frame(70, { 'counter.done': 70 })],
        'done',
      )?.series[0]?.values,
    ).toEqual([null, null, null, 1])
  })

  it('show the quantiles of a histogram in one chart and its count in another', () => {
    const frames = [
      frame(0, { 'histogram.ms.p50': 1, 'histogram.ms.p95': 2, 'histogram.ms.p99': 3, 'histogram.ms.count': 1 }),
      frame(1, { 'histogram.ms.count': 4 }),
    ]
    expect(panelOf(frames, 'ms')?.series).toEqual([
      { label: 'p50', values: [1, null] },
      { label: 'p95', values: [2, null] },
      { label: 'p99', values: [3, null] },
    ])
    expect(panelOf(frames, 'ms count')?.series[0]?.values).toEqual([null, 3])
  })

  it('treat a value that is not a number as a gap, for any metric name', () => {
    expect(
      panelOf([frame(0, { 'gauge.depth': 3 }), frame(1, { 'gauge.depth': 'much', __proto__x: {} })], 'depth')?.series[0]
        ?.values,
    ).toEqual([3, null])
  })

  it('are empty without frames', () => {
    expect(columnsOf([]).panels.map(({ series }) => series[0]?.values)).toEqual([[], [], []])
  })

  it('append each newer frame once and drop the oldest', () => {
    const first = Array.from({ length: 240 }, (_, n) => frame(n))
    const more = withNewer(first, [frame(239), frame(240)])
    expect([more.length, more[0]?.ts, more.at(-1)?.ts]).toEqual([240, 1, 240])
  })
})

describe('the lanes of slots', () => {
  const frames = [
    frame(0, {}, [slot(7, 10, { done: 1 }), slot(2, 0, { done: 0 })]),
    frame(10, {}, [slot(7, 20, { done: 21 })]),
    frame(20, {}, [slot(7, 3, { done: 2 }), slot(2, 1, {})]),
  ]
  const { slots } = columnsOf(frames)

  it('are ordered by slot and NaN where the slot did not exist', () => {
    expect(slots.ids).toEqual([2, 7])
    expect([...slots.ages]).toEqual([0, Number.NaN, 1, 10, 20, 3])
  })

  it('have rates of every counter', () => {
    expect([...(slots.rates['done'] ?? [])]).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN, 2, Number.NaN])
  })

  it('mark where the age of a slot restarts', () => {
    expect([3, 4, 5].map((cell) => isRestart(slots.ages, cell, 3))).toEqual([false, false, true])
  })
})

describe('the figures of a chart', () => {
  const series = { label: 'x', values: [3, null, 1, 2, 10] }

  it('are minimum, median, maximum and newest value', () => {
    expect(figuresOf(series)).toEqual({ min: 1, median: 2.5, max: 10, now: 10 })
    expect(figuresOf({ label: 'x', values: [1, null] })).toEqual({ min: 1, median: 1, max: 1, now: null })
    expect(figuresOf({ label: 'x', values: [null] })).toBeNull()
  })

  it('have their unit, and do not round small numbers to zero', () => {
    expect([
      figureText(0.0123, 'per second'),
      figureText(1234, 'MB'),
      figureText(null, '%'),
      figureText(0, ''),
    ]).toEqual(['0.012 /s', '1,234 MB', '–', '0'])
  })

  it('are exported to CSV with names that a spreadsheet does not run as formulas', () => {
    expect(csvOf([0, 1], { name: 'x', unit: '', series: [{ label: '=cmd"', values: [null, 2] }] })).toBe(
      '"time","\'=cmd"""\r\n1970-01-01T00:00:00.000Z,\r\n1970-01-01T00:00:01.000Z,2\r\n',
    )
  })
})
