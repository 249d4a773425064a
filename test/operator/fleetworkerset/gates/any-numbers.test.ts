/** Tests properties of verdicts with arbitrary numbers, seeded: also those that no honest worker sends. */
import { describe, expect, it } from '@jest/globals'
import { Value } from 'typebox/value'
import {
  GateResult,
  judgeGates,
  MAX_GATE_RESULTS,
  type Cohort,
  type GateFacts,
  type Gates,
} from '../../../../src/operator/fleetworkerset/gates/index.ts'
import { createRandom } from './simulated-rollout.ts'

const GATES: Gates = {
  minRuns: 0,
  errors: { max: '7%' },
  failureRate: { max: '0.3333', maxIncrease: '0.0001' },
  runSeconds: { quantile: 'p99', maxRatio: '1.0001' },
  counters: [
    { name: 'slot_failures', maxRatio: '999999.9999' },
    ...Array.from({ length: 7 }, (_, index) => ({ name: `${index}`.padEnd(56, '~'), maxRatio: '1' })),
  ],
}
const NAMES = [
  'runs_ok',
  'runs_failed',
  'worker_seconds',
  ...(GATES.counters ?? []).map(({ name }) => (name === 'slot_failures' ? name : `counter.${name}`)),
  ...Array.from({ length: 88 }, (_, index) => `run_ms_le.${index}`),
]
const NUMBERS = [0, 0, 1, 2, 49, 50, 1e-9, 0.5, 1e6, 2 ** 31, Number.MAX_SAFE_INTEGER]

const SEEDS = process.env['SOAK'] === '1' ? 30_000 : 1_000

type Pick = <T>(values: readonly T[]) => T

function randomCohort(pick: Pick): Cohort {
  const names = NAMES.filter(() => pick([true, false]))
  return {
    workers: pick([0, 1, 2, 3, 50_000]),
    counters: Object.fromEntries(names.map((name) => [name, pick(NUMBERS)])),
  }
}

function randomFacts(seed: number): GateFacts {
  const random = createRandom(seed)
  const pick: Pick = (values) => values[Math.floor(random() * values.length)] as (typeof values)[number]
  return {
    gates: pick([GATES, { ...GATES, minRuns: 50 }, {}]),
    kind: pick(['batch', 'batch', 'continuous']),
    look: pick(['bake', 'end']),
    updated: { ...randomCohort(pick), failedWorkers: pick([0, 1, 4_000]) },
    current: pick([undefined, randomCohort(pick), randomCohort(pick)]),
  }
}

describe('verdicts of arbitrary numbers', () => {
  it('conform to the schema of the status', () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const results = judgeGates(randomFacts(seed))
      expect(results.length).toBeLessThanOrEqual(MAX_GATE_RESULTS)
      for (const result of results) {
        expect([seed, result, Value.Check(GateResult, result)]).toEqual([seed, result, true])
        expect(JSON.stringify(result)).not.toMatch(/NaN|undefined|Infinity/)
      }
    }
  })

  it('never fail a comparison of a revision with itself', () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const facts = randomFacts(seed)
      const gates = { ...facts.gates, failureRate: { maxIncrease: '0' } }
      const results = judgeGates({ ...facts, gates, current: facts.updated })
      expect(results.filter(({ name, verdict }) => name !== 'errors' && verdict === 'Failed')).toEqual([])
    }
  })

  it('do not get worse with more runs that end well', () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const facts = randomFacts(seed)
      const { updated } = facts
      const better = { ...updated.counters, runs_ok: 2 * (updated.counters['runs_ok'] ?? 0) + 1_000 }
      const rateOf = (each: GateFacts): string | undefined =>
        judgeGates({ ...each, gates: { minRuns: 0 } }).find(({ name }) => name === 'failureRate')?.verdict
      if (rateOf(facts) === 'Passed')
        expect(rateOf({ ...facts, updated: { ...updated, counters: better } })).toBe('Passed')
    }
  })
})
