/** Tests the verdicts of gates. Each safeguard has a case that is judged differently without it. */
import { describe, expect, it } from '@jest/globals'
import {
  judgeGates,
  MAX_GATE_RESULTS,
  stageVerdict,
  type Cohort,
  type Counters,
  type GateFacts,
  type GateResult,
  type Gates,
  type Look,
} from '../../../../src/operator/fleetworkerset/gates/index.ts'

const runs = (failed: number, total: number) => ({ runs_ok: total - failed, runs_failed: failed })
const cohort = (workers: number, counters: Counters): Cohort => ({ workers, counters })

interface Case extends Partial<Omit<GateFacts, 'updated'>> {
  readonly updated: Cohort & { readonly failedWorkers?: number }
}

const judge = (facts: Case): readonly GateResult[] =>
  judgeGates({
    gates: {},
    kind: 'batch',
    look: 'end',
    current: cohort(200, runs(200, 10_000)),
    ...facts,
    updated: { failedWorkers: 0, ...facts.updated },
  })
const result = (facts: Case, name: string): GateResult | undefined => judge(facts).find((each) => each.name === name)
const verdict = (facts: Case, name = 'failureRate'): string | undefined => result(facts, name)?.verdict

describe('the gate of errors', () => {
  it.each([
    ['1%', 99, 0, 'Passed'],
    ['1%', 99, 1, 'Failed'],
    ['1%', 100, 1, 'Passed'],
    ['29%', 100, 29, 'Passed'],
    ['29%', 100, 30, 'Failed'],
    ['100%', 3, 3, 'Passed'],
    ['1%', 0, 0, 'Passed'],
  ])('with %s of %d workers and %d that failed is %s', (max, workers, failedWorkers, expected) => {
    for (const look of ['bake', 'end'] satisfies Look[])
      expect(
        verdict({ gates: { errors: { max } }, look, updated: { workers, counters: {}, failedWorkers } }, 'errors'),
      ).toBe(expected)
  })

  it('reports the numbers, and applies to continuous automations', () => {
    const facts: Case = { kind: 'continuous', updated: { workers: 24, counters: {}, failedWorkers: 1 } }
    expect(result(facts, 'errors')).toEqual({
      name: 'errors',
      verdict: 'Failed',
      updated: '1 of 24',
      allowed: '0',
      message: '1 of 24 updated workers failed; at most 0 may',
    })
  })
})

describe('the gate of the failure rate', () => {
  it('fails if the increase is above the bound and significant', () => {
    expect(result({ updated: cohort(24, runs(128, 412)) }, 'failureRate')).toEqual({
      name: 'failureRate',
      verdict: 'Failed',
      updated: '31.1 %',
      current: '2.0 %',
      allowed: '+2.0 points',
      runs: 412,
      message: '31.1 % of 412 runs failed; before the change, 2.0 %',
    })
  })

  it('passes an increase above the bound that is not significant', () => {
    expect(verdict({ updated: cohort(24, runs(3, 60)) })).toBe('Passed') // 5 % instead of 2 %.
    expect(verdict({ updated: cohort(24, runs(300, 6_000)) })).toBe('Failed')
  })

  it('passes a significant increase that is not above the bound', () => {
    const current = cohort(200, runs(0, 1_000_000))
    expect(verdict({ updated: cohort(200, runs(2_000, 100_000)), current })).toBe('Passed')
    expect(verdict({ updated: cohort(200, runs(2_001, 100_000)), current })).toBe('Failed')
  })

  it('needs more evidence while the stage bakes', () => {
    const updated = cohort(24, runs(9, 120))
    expect(verdict({ updated, look: 'end' })).toBe('Failed')
    expect(verdict({ updated, look: 'bake' })).toBe('Passed')
    expect(verdict({ updated: cohort(24, runs(40, 120)), look: 'bake' })).toBe('Failed')
  })

  it('permits twice the increase with fewer than 3 updated workers', () => {
    const gates: Gates = { failureRate: { maxIncrease: '0.1' } }
    const counters = runs(900, 5_000) // 18 %, 16 points more.
    expect(verdict({ gates, updated: cohort(2, counters) })).toBe('Passed')
    expect(verdict({ gates, updated: cohort(3, counters) })).toBe('Failed')
    expect(result({ gates, updated: cohort(2, counters) }, 'failureRate')?.allowed).toBe('+20.0 points')
  })

  it('decides nothing below minRuns', () => {
    expect(result({ updated: cohort(3, runs(49, 49)) }, 'failureRate')).toEqual({
      name: 'failureRate',
      verdict: 'Inconclusive',
      runs: 49,
      message: '49 runs of updated workers ended; 50 are needed',
    })
    expect(verdict({ updated: cohort(3, runs(50, 50)) })).toBe('Failed')
    expect(verdict({ gates: { minRuns: 10 }, updated: cohort(3, runs(10, 10)) })).toBe('Failed')
  })

  it('weighs runs of one worker less than runs of many', () => {
    const counters = runs(210, 3_000) // 7 %
    expect(verdict({ updated: cohort(1, counters) })).toBe('Passed')
    expect(verdict({ updated: cohort(60, counters) })).toBe('Failed')
  })

  it('shows small shares with more decimals', () => {
    const gates: Gates = { failureRate: { maxIncrease: '0.0001' } }
    const current = cohort(200, runs(0, 1_000_000))
    expect(result({ gates, updated: cohort(200, runs(40, 100_000)), current }, 'failureRate')).toMatchObject({
      updated: '0.04 %',
      current: '0.0 %',
      allowed: '+0.01 points',
    })
  })

  it('is NoTraffic if no run ended on either revision', () => {
    expect(verdict({ updated: cohort(3, {}), current: cohort(9, {}) })).toBe('NoTraffic')
    expect(verdict({ updated: cohort(3, {}), current: undefined })).toBe('NoTraffic')
  })

  it('is Inconclusive if only the updated workers have no runs, unless none are needed', () => {
    expect(verdict({ updated: cohort(3, {}) })).toBe('Inconclusive')
    expect(verdict({ gates: { minRuns: 1 }, updated: cohort(3, {}) })).toBe('Inconclusive')
    expect(verdict({ gates: { minRuns: 0 }, updated: cohort(3, {}) })).toBe('NoTraffic')
  })

  it('compares nothing without runs on the current revision, but waits for them', () => {
    expect(verdict({ updated: cohort(9, runs(90, 90)), current: undefined })).toBe('NotApplicable')
    expect(verdict({ updated: cohort(9, runs(90, 90)), current: cohort(9, {}) })).toBe('NotApplicable')
    expect(verdict({ updated: cohort(9, runs(9, 9)), current: cohort(9, {}) })).toBe('Inconclusive')
  })

  it('has a bound that needs no comparison', () => {
    const gates: Gates = { failureRate: { max: '0.2', maxIncrease: '1' } }
    expect(result({ gates, updated: cohort(24, runs(400, 1_000)), current: undefined }, 'failureRate')).toEqual({
      name: 'failureRate',
      verdict: 'Failed',
      updated: '40.0 %',
      allowed: '20.0 %',
      runs: 1_000,
      message: '40.0 % of 1000 runs failed; at most 20.0 % may',
    })
    expect(verdict({ gates, updated: cohort(24, runs(200, 1_000)), current: undefined })).toBe('Passed')
    expect(verdict({ gates, updated: cohort(24, runs(12, 50)) })).toBe('Passed') // 24 %, not certainly above 20 %.
    expect(verdict({ gates, updated: cohort(24, runs(40, 49)) })).toBe('Inconclusive')
    expect(result({ gates, updated: cohort(24, runs(12, 50)) }, 'failureRate')?.allowed).toBe('+100.0 points, 20.0 %')
  })

  it('passes when all or none fail on both sides', () => {
    expect(verdict({ updated: cohort(1, runs(60, 60)), current: cohort(1, runs(70, 70)) })).toBe('Passed')
    expect(verdict({ updated: cohort(1, runs(0, 60)), current: cohort(1, runs(0, 70)) })).toBe('Passed')
    expect(verdict({ updated: cohort(1, runs(60, 60)), current: cohort(1, runs(0, 70)) })).toBe('Failed')
    expect(verdict({ updated: cohort(1, runs(0, 60)), current: cohort(1, runs(70, 70)) })).toBe('Passed')
  })

  it('does not apply to continuous automations', () => {
    expect(verdict({ kind: 'continuous', updated: cohort(24, runs(50, 50)) })).toBe('NotApplicable')
  })

  it('takes the greatest numbers', () => {
    const all = Number.MAX_SAFE_INTEGER
    const updated = cohort(50_000, { runs_ok: 0, runs_failed: all })
    expect(verdict({ updated, current: cohort(50_000, { runs_ok: all, runs_failed: 0 }) })).toBe('Failed')
    expect(verdict({ updated, current: cohort(50_000, { runs_ok: 0, runs_failed: all }) })).toBe('Passed')
  })
})

/** Runs of a lognormal duration, spread over the buckets around `center`. */
const durations = (center: number, total: number): Counters => {
  const shares = [0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05]
  return Object.fromEntries(
    shares.map((share, index) => [`run_ms_le.${center - 3 + index}`, Math.round(share * total)]),
  )
}

describe('the gate of durations', () => {
  const gates: Gates = { runSeconds: { quantile: 'p95', maxRatio: '1.3' } }
  const current = cohort(200, durations(40, 20_000))

  it('fails if the quantile is higher than permitted, and certainly', () => {
    expect(result({ gates, updated: cohort(24, durations(42, 2_000)), current }, 'runSeconds')).toEqual({
      name: 'runSeconds',
      verdict: 'Failed',
      updated: '2.05 s',
      current: '1.45 s',
      allowed: 'x 1.3',
      runs: 2_000,
      message: 'p95 of a run is 2.05 s; before the change, 1.45 s',
    })
    expect(verdict({ gates, updated: cohort(24, durations(41, 2_000)), current }, 'runSeconds')).toBe('Passed')
    expect(verdict({ gates, updated: cohort(24, durations(30, 2_000)), current }, 'runSeconds')).toBe('Passed')
  })

  it('passes what is not certain', () => {
    expect(verdict({ gates, updated: cohort(24, durations(42, 60)), current }, 'runSeconds')).toBe('Passed')
    const few = cohort(2, durations(40, 100))
    expect(verdict({ gates, updated: cohort(24, durations(60, 2_000)), current: few }, 'runSeconds')).toBe('Passed')
  })

  it('needs more evidence while the stage bakes', () => {
    const updated = cohort(24, durations(42, 100))
    expect(verdict({ gates, updated, current }, 'runSeconds')).toBe('Failed')
    expect(verdict({ gates, updated, current, look: 'bake' }, 'runSeconds')).toBe('Passed')
  })

  it('permits twice the increase with fewer than 3 updated workers', () => {
    expect(result({ gates, updated: cohort(2, durations(42, 2_000)), current }, 'runSeconds')).toMatchObject({
      verdict: 'Passed',
      allowed: 'x 1.6',
    })
    expect(verdict({ gates, updated: cohort(2, durations(52, 2_000)), current }, 'runSeconds')).toBe('Failed')
  })

  it('does not compare runs of more than 49 minutes', () => {
    const long = cohort(200, { 'run_ms_le.87': 10_000 })
    expect(verdict({ gates, updated: long, current: long }, 'runSeconds')).toBe('NotApplicable')
    expect(verdict({ gates, updated: long, current }, 'runSeconds')).toBe('Failed')
  })

  it('compares nothing that is shorter than 1 ms', () => {
    const short = cohort(200, { 'run_ms_le.0': 10_000 })
    expect(verdict({ gates, updated: short, current: short }, 'runSeconds')).toBe('Passed')
  })

  it('decides nothing below minRuns, without a baseline or traffic', () => {
    expect(verdict({ gates, updated: cohort(24, { 'run_ms_le.80': 49 }), current }, 'runSeconds')).toBe('Inconclusive')
    expect(verdict({ gates, updated: cohort(24, {}), current: cohort(2, {}) }, 'runSeconds')).toBe('NoTraffic')
    expect(verdict({ gates, updated: cohort(24, durations(42, 100)), current: undefined }, 'runSeconds')).toBe(
      'NotApplicable',
    )
    expect(verdict({ gates, kind: 'continuous', updated: current, current }, 'runSeconds')).toBe('NotApplicable')
  })
})

describe('the gate of a counter', () => {
  const gates: Gates = { counters: [{ name: 'http_5xx', maxRatio: '1.5' }] }
  const counted = (count: number, total: number) => ({ ...runs(0, total), 'counter.http_5xx': count })
  const current = cohort(200, counted(1_000, 10_000))

  it('compares events per run', () => {
    expect(result({ gates, updated: cohort(24, counted(300, 1_000)), current }, 'counter.http_5xx')).toEqual({
      name: 'counter.http_5xx',
      verdict: 'Failed',
      updated: '0.3 per run',
      current: '0.1 per run',
      allowed: 'x 1.5',
      runs: 1_000,
      message: '0.3 per run; before the change, 0.1 per run',
    })
    expect(verdict({ gates, updated: cohort(24, counted(150, 1_000)), current }, 'counter.http_5xx')).toBe('Passed')
    expect(verdict({ gates, updated: cohort(24, counted(0, 1_000)), current }, 'counter.http_5xx')).toBe('Passed')
  })

  it('passes what is not significant', () => {
    expect(verdict({ gates, updated: cohort(24, counted(10, 60)), current }, 'counter.http_5xx')).toBe('Passed')
  })

  it('needs more evidence while the stage bakes', () => {
    const updated = cohort(24, counted(25, 120))
    expect(verdict({ gates, updated, current }, 'counter.http_5xx')).toBe('Failed')
    expect(verdict({ gates, updated, current, look: 'bake' }, 'counter.http_5xx')).toBe('Passed')
  })

  it('permits twice the increase with fewer than 3 updated workers', () => {
    const counters = counted(1_900, 10_000)
    const facts: Case = { gates, updated: cohort(2, counters), current: cohort(2, counted(1_000, 10_000)) }
    expect(result(facts, 'counter.http_5xx')?.allowed).toBe('x 2')
    expect(verdict(facts, 'counter.http_5xx')).toBe('Passed')
    expect(verdict({ ...facts, current, updated: cohort(3, counters) }, 'counter.http_5xx')).toBe('Failed')
  })

  it('needs about ten events against none', () => {
    const none = cohort(200, counted(0, 1_000))
    expect(verdict({ gates, updated: cohort(200, counted(9, 1_000)), current: none }, 'counter.http_5xx')).toBe(
      'Passed',
    )
    expect(verdict({ gates, updated: cohort(200, counted(11, 1_000)), current: none }, 'counter.http_5xx')).toBe(
      'Failed',
    )
    expect(verdict({ gates, updated: none, current: none }, 'counter.http_5xx')).toBe('Passed')
  })

  it('weighs several events in one run as one', () => {
    const other = cohort(100, counted(10_000, 50))
    expect(verdict({ gates, updated: cohort(100, counted(16_000, 50)), current: other }, 'counter.http_5xx')).toBe(
      'Passed',
    )
    const many = cohort(100, counted(200_000, 1_000))
    expect(verdict({ gates, updated: cohort(100, counted(320_000, 1_000)), current: many }, 'counter.http_5xx')).toBe(
      'Failed',
    )
  })

  it('weighs the events of one worker less than those of many', () => {
    const counters = counted(400, 2_000)
    expect(verdict({ gates, updated: cohort(1, counters), current }, 'counter.http_5xx')).toBe('Passed')
    expect(verdict({ gates, updated: cohort(40, counters), current }, 'counter.http_5xx')).toBe('Failed')
  })

  it('decides nothing below minRuns', () => {
    expect(verdict({ gates, updated: cohort(24, counted(49, 49)), current }, 'counter.http_5xx')).toBe('Inconclusive')
  })

  it('compares events per minute of a worker of a continuous automation', () => {
    const minutes = (count: number, of: number) => ({ worker_seconds: of * 60, 'counter.http_5xx': count })
    const facts: Case = { gates, kind: 'continuous', updated: cohort(24, minutes(90, 120)) }
    const before = cohort(200, minutes(250, 1_000))
    expect(result({ ...facts, current: before }, 'counter.http_5xx')).toEqual({
      name: 'counter.http_5xx',
      verdict: 'Failed',
      updated: '0.75 per min',
      current: '0.25 per min',
      allowed: 'x 1.5',
      message: '0.75 per min; before the change, 0.25 per min',
    })
    expect(verdict({ ...facts, updated: cohort(24, {}), current: before }, 'counter.http_5xx')).toBe('Inconclusive')
    expect(verdict({ ...facts, updated: cohort(24, {}), current: cohort(1, {}) }, 'counter.http_5xx')).toBe('NoTraffic')
    expect(verdict({ ...facts, current: undefined }, 'counter.http_5xx')).toBe('NotApplicable')
  })

  it('compares slot failures per minute, because a slot that cannot start has no run', () => {
    const slotGates: Gates = { counters: [{ name: 'slot_failures', maxRatio: '2' }] }
    const updated = cohort(3, { worker_seconds: 900, slot_failures: 45 })
    const before = cohort(200, { ...runs(0, 10_000), worker_seconds: 60_000, slot_failures: 2 })
    expect(verdict({ gates: slotGates, updated, current: before }, 'slot_failures')).toBe('Failed')
  })
})

describe('stageVerdict', () => {
  const each = (...verdicts: GateResult['verdict'][]) =>
    stageVerdict(verdicts.map((one, index) => ({ name: `g${index}`, verdict: one })))

  it('is Failed if any gate failed, else Inconclusive if any is', () => {
    expect(each('Passed', 'Inconclusive', 'Failed')).toBe('Failed')
    expect(each('Passed', 'Inconclusive', 'NoTraffic')).toBe('Inconclusive')
    expect(each('Passed', 'NoTraffic', 'NotApplicable')).toBe('Passed')
    expect(each()).toBe('Passed')
  })

  it('judges the gates in the order of the spec', () => {
    const gates: Gates = {
      runSeconds: { quantile: 'p50', maxRatio: '2' },
      counters: [
        { name: 'b', maxRatio: '1' },
        { name: 'a', maxRatio: '1' },
      ],
    }
    const names = judge({ gates, updated: cohort(1, {}) }).map(({ name }) => name)
    expect(names).toEqual(['errors', 'failureRate', 'runSeconds', 'counter.b', 'counter.a'])
    expect(names.length + 6).toBe(MAX_GATE_RESULTS)
  })
})
