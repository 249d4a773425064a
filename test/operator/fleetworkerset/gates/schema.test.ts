/** Tests that the schema of gates and the faults found in code agree. */
import { describe, expect, it } from '@jest/globals'
import { Value } from 'typebox/value'
import { ROLLOUT_VERDICTS } from '../../../../src/protocol/index.ts'
import { Gates, gatesFaults, GateResult } from '../../../../src/operator/fleetworkerset/gates/index.ts'

const counters = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `c${index}`, maxRatio: '1.5' }))

const GOOD: readonly Gates[] = [
  {},
  { minRuns: 0 },
  { minRuns: 1_000_000, errors: { max: '100%' }, failureRate: { max: '1', maxIncrease: '0.0001' } },
  { failureRate: { max: '0' }, runSeconds: { quantile: 'p50', maxRatio: '1' } },
  { runSeconds: { quantile: 'p99', maxRatio: '999999.9999' }, counters: counters(8) },
  { counters: [{ name: 'a counter of 56 characters'.padEnd(56, '~'), maxRatio: '1.0000' }] },
]

const BAD: readonly (readonly [string, Gates, string])[] = [
  ['minRuns below 0', { minRuns: -1 }, 'minRuns: must be an integer from 0'],
  ['minRuns above 1,000,000', { minRuns: 1_000_001 }, 'minRuns: must be'],
  ['minRuns with a fraction', { minRuns: 1.5 }, 'minRuns: must be'],
  ['errors of 0%', { errors: { max: '0%' } }, 'errors.max: must be a percentage'],
  ['errors above 100%', { errors: { max: '101%' } }, 'errors.max: must be a percentage'],
  ['a share above 1', { failureRate: { maxIncrease: '2' } }, 'failureRate.maxIncrease: must be a share from 0 to 1'],
  ['a highest share above 1', { failureRate: { max: '1.0001' } }, 'failureRate.max: must be a share'],
  ['a share of five decimals', { failureRate: { max: '0.00001' } }, 'failureRate.max: must be a share'],
  ['a negative share', { failureRate: { max: '-0.1' } }, 'failureRate.max: must be a share'],
  ['a share in other notation', { failureRate: { max: '1e-1' } }, 'failureRate.max: must be a share'],
  ['a ratio below 1', { runSeconds: { quantile: 'p95', maxRatio: '0.3' } }, 'runSeconds.maxRatio: must be at least 1'],
  ['an unknown quantile', { runSeconds: { quantile: 'p75' as 'p95', maxRatio: '1.3' } }, 'must be one of p50, p90'],
  ['nine counters', { counters: counters(9) }, 'counters: has 9 counters, at most 8'],
  ['a counter twice', { counters: [...counters(1), ...counters(1)] }, 'names "c0" twice'],
  ['a counter without a name', { counters: [{ name: '', maxRatio: '1' }] }, 'counters: a name must have'],
  ['a long counter', { counters: [{ name: 'x'.repeat(57), maxRatio: '1' }] }, 'counters: a name must have'],
  ['a counter of other characters', { counters: [{ name: 'é', maxRatio: '1' }] }, 'counters: a name must have'],
  ['a counter with a ratio below 1', { counters: [{ name: 'c', maxRatio: '0.9' }] }, '"c": maxRatio: must be'],
]

describe('gatesFaults', () => {
  it.each(GOOD)('accepts %j, like the schema', (gates) => {
    expect(gatesFaults(gates)).toEqual([])
    expect(Value.Check(Gates, gates)).toBe(true)
  })

  it.each(BAD)('rejects %s', (_, gates, message) => {
    expect(gatesFaults(gates)).toEqual([expect.stringContaining(message)])
  })
})

describe('the schema of gates', () => {
  it('has a whole default, which is without faults', () => {
    const gates = { minRuns: 50, errors: { max: '1%' }, failureRate: { maxIncrease: '0.02' } }
    expect(Value.Create(Gates)).toEqual(gates)
    expect(Value.Default(Gates, {})).toEqual(gates)
    expect(gatesFaults(gates)).toEqual([])
  })

  it('describes each field and bounds each text of a result', () => {
    for (const field of Object.values(GateResult.properties)) expect(field).toHaveProperty('description')
    const largest = {
      name: 'x'.repeat(64),
      verdict: ROLLOUT_VERDICTS[0],
      updated: 'x'.repeat(32),
      current: 'x'.repeat(32),
      allowed: 'x'.repeat(32),
      runs: Number.MAX_SAFE_INTEGER,
      message: 'x'.repeat(160),
    }
    expect(Value.Check(GateResult, largest)).toBe(true)
    expect(Value.Check(GateResult, { ...largest, message: 'x'.repeat(161) })).toBe(false)
  })
})
