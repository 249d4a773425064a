import { describe, expect, it } from '@jest/globals'
import { counterFrame } from '../../../src/master/control/counter-frames.ts'

const GEN = { 'gauge.muster.config_gen': 3 }
/** What a tally would get from a frame. */
function valuesOf(frame: ReturnType<typeof counterFrame>): Readonly<Record<string, number>> | null {
  return frame && Object.fromEntries(frame.layout.counters.map(({ name }, at) => [name, frame.values[at] ?? 0]))
}

describe('the counters of a frame', () => {
  it('have the names of a tally, and belong to a generation', () => {
    const metrics = { ...GEN, 'counter.muster.runs_ok': 2, 'counter.sent': 1.5, 'gauge.x': 1, 'histogram.y.count': 1 }
    const frame = counterFrame(metrics, 7)
    expect(frame).toMatchObject({ gen: 3, atMs: 7 })
    expect(valuesOf(frame)).toEqual({ runs_ok: 2, 'counter.sent': 1.5 })
    expect(counterFrame({ 'counter.muster.runs_ok': 2 }, 7)).toBeNull()
    expect(counterFrame({ 'gauge.muster.config_gen': 1e300 }, 7)).toBeNull()
  })

  it('share the layout of the frame before, if the names are the same', () => {
    const first = counterFrame({ ...GEN, 'counter.a': 1, 'gauge.x': 1, 'counter.muster.runs_ok': 2 }, 0)
    const next = counterFrame({ ...GEN, 'counter.a': 5, 'gauge.x': 2, 'counter.muster.runs_ok': -1 }, 1, first)
    expect(next?.layout).toBe(first?.layout)
    expect(valuesOf(next)).toEqual({ 'counter.a': 5, runs_ok: 0 })
    const others = [
      { ...GEN, 'counter.a': 6, 'gauge.x': 2 },
      { ...GEN, 'counter.a': 6, 'counter.muster.runs_ok': 7, 'gauge.x': 2 },
      { ...GEN, 'counter.a': 6, 'gauge.x': 2, 'counter.muster.runs_ok': 7, 'counter.b': 8 },
    ]
    expect(others.map((metrics) => valuesOf(counterFrame(metrics, 2, next)))).toEqual([
      { 'counter.a': 6 },
      { 'counter.a': 6, runs_ok: 7 },
      { 'counter.a': 6, runs_ok: 7, 'counter.b': 8 },
    ])
  })

  it('bounds what it keeps of a frame (D138)', () => {
    const names = Array.from({ length: 5_000 }, (_, i) => [`counter.x${i}`, 1] as const)
    const frame = counterFrame({ ...GEN, ...Object.fromEntries(names) }, 0)
    expect([frame?.values.length, frame?.layout.keys]).toEqual([64, []])
    const odd = { [`counter.${'x'.repeat(300)}`]: 1, 'counter.\ud800': 1, 'counter.muster.new': 1 }
    expect(counterFrame({ ...GEN, ...odd }, 0)).toMatchObject({ layout: { keys: [], counters: [] } })
  })
})
