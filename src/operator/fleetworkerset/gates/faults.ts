/**
 * @module operator/fleetworkerset/gates/faults
 * Validates the gates of a rollout. Every rule of the CustomResourceDefinition is here again, because an object may be
 * older than the rule it breaks. Each fault is one sentence.
 * @see D144
 */
import { PERCENT_PATTERN, PRINTABLE_PATTERN } from '../../../protocol/index.ts'
import { twice } from '../../config/index.ts'
import {
  DECIMAL_PATTERN,
  DEFAULT_MAX_ERRORS,
  MAX_COUNTER_CHARS,
  MAX_COUNTER_GATES,
  MIN_RUNS,
  QUANTILES,
  type CounterGate,
  type Gates,
} from './schema.ts'

const AT = 'spec.rollout.gates'
const PERCENT = new RegExp(PERCENT_PATTERN)
const DECIMAL = new RegExp(DECIMAL_PATTERN)
const COUNTER = new RegExp(PRINTABLE_PATTERN)

/** @returns all faults of the gates; empty if there are none. */
export const gatesFaults = (gates: Gates): readonly string[] => [
  ...minRunsFaults(gates.minRuns ?? MIN_RUNS.default),
  ...(PERCENT.test(gates.errors?.max ?? DEFAULT_MAX_ERRORS)
    ? []
    : [`${AT}.errors.max: must be a percentage from "1%" to "100%"`]),
  ...shareFaults(gates.failureRate?.max, `${AT}.failureRate.max`),
  ...shareFaults(gates.failureRate?.maxIncrease, `${AT}.failureRate.maxIncrease`),
  ...runSecondsFaults(gates.runSeconds),
  ...countersFaults(gates.counters ?? []),
]

const minRunsFaults = (runs: number): readonly string[] =>
  Number.isInteger(runs) && runs >= MIN_RUNS.minimum && runs <= MIN_RUNS.maximum
    ? []
    : [`${AT}.minRuns: must be an integer from ${MIN_RUNS.minimum} to ${MIN_RUNS.maximum}`]

const shareFaults = (share: string | undefined, at: string): readonly string[] =>
  share === undefined || (DECIMAL.test(share) && Number(share) <= 1)
    ? []
    : [`${at}: must be a share from 0 to 1 with at most four decimals, for example "0.02" for 2 %`]

const ratioFaults = (ratio: string, at: string): readonly string[] =>
  DECIMAL.test(ratio) && Number(ratio) >= 1
    ? []
    : [`${at}: must be at least 1 and have at most four decimals, for example "1.3" for 30 % more`]

function runSecondsFaults(gate: Gates['runSeconds']): readonly string[] {
  if (gate === undefined) return []
  const at = `${AT}.runSeconds`
  return [
    ...(QUANTILES.includes(gate.quantile) ? [] : [`${at}.quantile: must be one of ${QUANTILES.join(', ')}`]),
    ...ratioFaults(gate.maxRatio, `${at}.maxRatio`),
  ]
}

function countersFaults(counters: readonly CounterGate[]): readonly string[] {
  const at = `${AT}.counters`
  if (counters.length > MAX_COUNTER_GATES)
    return [`${at}: has ${counters.length} counters, at most ${MAX_COUNTER_GATES} are allowed`]
  return [
    ...counters.flatMap((each) => counterFaults(each, at)),
    ...twice(counters.map(({ name }) => name)).map(
      (name) => `${at}: names ${JSON.stringify(name.slice(0, MAX_COUNTER_CHARS))} twice; remove one of the two`,
    ),
  ]
}

const counterFaults = ({ name, maxRatio }: CounterGate, at: string): readonly string[] =>
  name.length <= MAX_COUNTER_CHARS && COUNTER.test(name)
    ? ratioFaults(maxRatio, `${at}: ${JSON.stringify(name)}: maxRatio`)
    : [`${at}: a name must have 1 to ${MAX_COUNTER_CHARS} printable ASCII characters`]
