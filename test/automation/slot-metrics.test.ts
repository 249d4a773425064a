import { describe, expect, it } from '@jest/globals'
import { SlotMetrics } from '../../src/automation/index.ts'

function started() {
  const warnings: string[] = []
  const log = {
    debug: () => {},
    info: () => {},
    warn: (message: string) => void warnings.push(message),
    error: () => {},
  }
  return { metrics: new SlotMetrics(log), warnings }
}

describe('SlotMetrics', () => {
  it('sums counters over all slots, including ended ones, and counts each slot separately (D55)', () => {
    const { metrics } = started()
    metrics.of(1).counter('probes').add()
    metrics.of(1).counter('probes').add(2)
    metrics.of(2).counter('probes').add(10)
    expect(metrics.countersOf(1)).toEqual({ probes: 3 })
    metrics.forget(2)
    expect(metrics.snapshot()).toEqual({ 'counter.probes': 13 })
    expect(metrics.countersOf(2)).toEqual({})
  })

  it('keeps the last value of a gauge', () => {
    const { metrics } = started()
    metrics.of(1).gauge('depth').set(5)
    metrics.of(2).gauge('depth').set(-1.5)
    expect(metrics.snapshot()).toEqual({ 'gauge.depth': -1.5 })
  })

  it('reports percentiles to three digits, including fractions and zero', () => {
    const { metrics } = started()
    const { record } = metrics.of(1).histogram('ms')
    for (let n = 1; n <= 100; n += 1) record(n / 2)
    const {
      'histogram.ms.p50': p50 = 0,
      'histogram.ms.p95': p95 = 0,
      'histogram.ms.p99': p99 = 0,
      ...rest
    } = metrics.snapshot()
    expect(Math.abs(p50 - 25) / 25).toBeLessThan(0.002)
    expect(Math.abs(p95 - 47.5) / 47.5).toBeLessThan(0.002)
    expect(Math.abs(p99 - 49.5) / 49.5).toBeLessThan(0.002)
    expect(rest).toEqual({ 'histogram.ms.count': 100 })
    metrics.of(1).histogram('zero').record(0)
    metrics.of(1).histogram('huge').record(1e300)
    expect(metrics.snapshot()).toMatchObject({ 'histogram.zero.p99': 0, 'histogram.huge.count': 1 })
  })

  it('drops invalid values and logs them once', () => {
    const { metrics, warnings } = started()
    const slot = metrics.of(1)
    for (const wrong of [Number.NaN, Infinity, -1, 'many' as never, undefined as never]) {
      slot.counter('c').add(wrong ?? Number.NaN)
      slot.histogram('h').record(wrong)
    }
    slot.gauge('g').set(Number.NaN)
    expect(metrics.snapshot()).toEqual({})
    expect(warnings).toHaveLength(3)
  })

  it('keeps 500 names, and drops and logs further ones once', () => {
    const { metrics, warnings } = started()
    const slot = metrics.of(1)
    for (let n = 0; n < 300; n += 1) slot.counter(`c${n}`).add()
    for (let n = 0; n < 300; n += 1) slot.gauge(`g${n}`).set(n)
    slot.counter('c0').add()
    expect(Object.keys(metrics.snapshot())).toHaveLength(500)
    expect(metrics.snapshot()['counter.c0']).toBe(2)
    expect(warnings).toEqual([expect.stringContaining('a worker keeps 500 metrics')])
  })

  it('drops metrics with a reserved name, and logs why once (D137)', () => {
    const { metrics, warnings } = started()
    const own = metrics.of(1)
    own.counter('muster.runs_ok').add()
    own.gauge('muster.tasks_held').set(0)
    own.histogram('muster.ms').record(1)
    own.counter('mustered').add()
    expect(metrics.snapshot()).toEqual({ 'counter.mustered': 1 })
    expect(metrics.countersOf(1)).toEqual({ mustered: 1 })
    expect(warnings).toEqual([
      'the counter "muster.runs_ok" is dropped: names that begin with "muster." are reserved for the worker; ' +
        'choose another name',
    ])
  })

  it('accepts hostile names as plain names', () => {
    const { metrics, warnings } = started()
    const slot = metrics.of(1)
    slot.counter('__proto__').add()
    slot.counter('').add()
    slot.counter('a\n').add()
    slot.counter('x'.repeat(257)).add()
    expect(Object.entries(metrics.snapshot())).toEqual([['counter.__proto__', 1]])
    expect(Object.entries(metrics.countersOf(1))).toEqual([['__proto__', 1]])
    expect(warnings).toHaveLength(1)
  })
})
