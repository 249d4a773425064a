/**
 * @module operator/fleetworkerset/gates/schema
 * Defines the schemas of the gates of a rollout: `spec.rollout.gates`, and an entry of `status.rollout.gates`. Decimals
 * are text, because Kubernetes objects have no fractions. Each CEL rule is repeated in faults.ts: an object may be
 * older than the rule it breaks.
 *
 * Every object with defaults also has a default for itself, and it is whole: the API server sets the defaults of fields
 * only below an object that exists, and checks the rules of an object on its default alone.
 * @see D144
 */
import { Type, type Static } from 'typebox'
import { PERCENT_PATTERN, PRINTABLE_PATTERN, ROLLOUT_VERDICTS } from '../../../protocol/index.ts'
import { int, rules, text } from '../../config/index.ts'

export const MIN_RUNS = { minimum: 0, maximum: 1_000_000, default: 50 } as const
export const DEFAULT_MAX_ERRORS = '1%'
export const DEFAULT_MAX_INCREASE = '0.02'
export const MAX_COUNTER_GATES = 8
/** Longest name of a counter that a gate compares. The name of its result is `counter.<name>`, as in the statistics. */
export const MAX_COUNTER_CHARS = 56

/** A number of 0 or more with at most four decimals, such as `0.02`. */
export const DECIMAL_PATTERN = '^[0-9]{1,6}(\\.[0-9]{1,4})?$'
const MAX_DECIMAL_CHARS = 11

export const QUANTILES = ['p50', 'p90', 'p95', 'p99'] as const
type Quantile = (typeof QUANTILES)[number]

type Verdict = (typeof ROLLOUT_VERDICTS)[number]

const decimal = (description: string, rule: { readonly rule: string; readonly message: string }, more: object = {}) =>
  text(MAX_DECIMAL_CHARS, description, { pattern: DECIMAL_PATTERN, ...more, ...rules(rule) })

const share = (description: string, more: object = {}) =>
  decimal(
    description,
    { rule: 'double(self) <= 1.0', message: 'a failure rate is a share from 0 to 1, for example "0.02" for 2 %' },
    more,
  )

const maxRatio = (description: string) =>
  decimal(description, {
    rule: 'double(self) >= 1.0',
    message: 'a ratio is at least 1, for example "1.3" for 30 % more',
  })

const Errors = Type.Object(
  {
    max: Type.Optional(
      text(4, 'How many of the updated workers may fail, as a percentage that is rounded down.', {
        pattern: PERCENT_PATTERN,
        default: DEFAULT_MAX_ERRORS,
      }),
    ),
  },
  {
    default: { max: DEFAULT_MAX_ERRORS },
    description:
      'Updated workers that fail: they entered ERROR, refused the config, or did not acknowledge it. "100%" turns ' +
      'this gate off.',
  },
)

const FailureRate = Type.Object(
  {
    max: Type.Optional(
      share('The highest share of failed runs of the updated workers, whatever the other workers do.'),
    ),
    maxIncrease: Type.Optional(
      share(
        'How much higher the share of failed runs of the updated workers may be than that of the workers on the ' +
          'current revision: "0.02" permits 2 percentage points. "1" turns this comparison off.',
        { default: DEFAULT_MAX_INCREASE },
      ),
    ),
  },
  {
    default: { maxIncrease: DEFAULT_MAX_INCREASE },
    description: 'Failed runs, as a share of the runs that ended. Only of batch automations.',
  },
)

const RunSeconds = Type.Object(
  {
    quantile: Type.Unsafe<Quantile>({
      type: 'string',
      enum: QUANTILES,
      description: 'The quantile that is compared: of p95, 95 % of the runs take at most as long.',
    }),
    maxRatio: maxRatio('How many times as long it may be as on the workers of the current revision.'),
  },
  { description: 'How long runs take. Only of batch automations. Left out: not compared.' },
)

const CounterGate = Type.Object({
  name: text(
    MAX_COUNTER_CHARS,
    'The name of a counter of the automation; or slot_failures, which Muster counts per minute of a worker: slots ' +
      'that could not start, and continuous runs that threw.',
    { minLength: 1, pattern: PRINTABLE_PATTERN },
  ),
  maxRatio: maxRatio('How many times as high its rate may be as on the workers of the current revision.'),
})
export type CounterGate = Static<typeof CounterGate>

/** `spec.rollout.gates`. */
export const Gates = Type.Object(
  {
    minRuns: Type.Optional(
      int('int32', 'How many runs of the updated workers must have ended before runs are compared.', { ...MIN_RUNS }),
    ),
    errors: Type.Optional(Errors),
    failureRate: Type.Optional(FailureRate),
    runSeconds: Type.Optional(RunSeconds),
    counters: Type.Optional(
      Type.Array(CounterGate, {
        maxItems: MAX_COUNTER_GATES,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        description:
          'Counters whose rate is compared: per run that ended, or per minute of a worker of a continuous automation.',
      }),
    ),
  },
  {
    default: {
      minRuns: MIN_RUNS.default,
      errors: { max: DEFAULT_MAX_ERRORS },
      failureRate: { maxIncrease: DEFAULT_MAX_INCREASE },
    },
    description: 'What must hold before the next stage: the updated workers are compared with those before the change.',
  },
)
export type Gates = Static<typeof Gates>

const shortText = (description: string) => Type.Optional(text(32, description))

/** An entry of `status.rollout.gates`. */
export const GateResult = Type.Object({
  name: text(64, 'errors, failureRate, runSeconds, slot_failures, or counter.<name>.'),
  verdict: Type.Unsafe<Verdict>({
    type: 'string',
    enum: ROLLOUT_VERDICTS,
    description:
      'Passed, Failed, or Inconclusive (too little data). NoTraffic and NotApplicable do not stop a rollout.',
  }),
  updated: shortText('The value of the updated workers.'),
  current: shortText('The value of the workers on the current revision.'),
  allowed: shortText('What is permitted, for example "+2.0 points" or "x 1.3".'),
  runs: Type.Optional(int('int64', 'Number of runs of the updated workers that ended.')),
  message: Type.Optional(text(160, 'Why the verdict is not Passed.')),
})
export type GateResult = Static<typeof GateResult>
/** How many entries `status.rollout.gates` has at most: errors, failureRate, runSeconds, and one of each counter. */
export const MAX_GATE_RESULTS = 3 + MAX_COUNTER_GATES
