/**
 * @module operator/fleetworkerset/rollout-schema
 * Defines the schemas of a rollout: in the spec how a changed config reaches the workers, in the status how far it is.
 * Part of schema.ts.
 */
import { Type, type Static } from 'typebox'
import {
  MAX_WORKER_LABEL_CHARS,
  PERCENT_PATTERN,
  ROLLOUT_PHASES,
  WORKER_LABEL_KEY_PATTERN,
} from '../../protocol/index.ts'
import { DAY_SECONDS, int, rules, text, time } from '../config/index.ts'
import {
  DEFAULT_MAX_ERRORS,
  DEFAULT_MAX_INCREASE,
  GateResult,
  Gates,
  MAX_GATE_RESULTS,
  MIN_RUNS,
} from './gates/index.ts'

export const MAX_WORKER_COUNT = 1_000_000
export const DEFAULT_MAX_UNAVAILABLE = '10%'
export const ACK_TIMEOUT_SECONDS = { minimum: 35, maximum: 3_600, default: 60 } as const
export const PROGRESS_DEADLINE_SECONDS = { minimum: 36, maximum: DAY_SECONDS, default: 600 } as const
export const BAKE_SECONDS = { minimum: 0, maximum: DAY_SECONDS, default: 120 } as const
export const MAX_STAGES = 10
/** How many failed revisions a status names. */
export const MAX_FAILED_REVISIONS = 5
export const MAX_FAILURE_MESSAGE_CHARS = 512
/** Most counters of one revision that a status stores. */
const MAX_WINDOW_COUNTERS = 128

export const APPROVALS = ['Auto', 'Manual'] as const
export const FAILURE_ACTIONS = ['Rollback', 'Pause'] as const
export const INCONCLUSIVE_ACTIONS = ['Pause', 'Continue'] as const

/** Kubernetes fills in no defaults inside of a default, so this has every field. */
const stage = (workers: number | string) => ({ workers, bakeSeconds: BAKE_SECONDS.default, approval: APPROVALS[0] })
const DEFAULT_STAGES = [stage(1), stage('10%'), stage('50%')] as const

/** A number or a percentage. The API server checks the bounds of whichever it is. */
const countOrPercent = (minimum: number, description: string, more: object = {}) =>
  Type.Unsafe<number | string>({
    'x-kubernetes-int-or-string': true,
    minimum,
    maximum: MAX_WORKER_COUNT,
    pattern: PERCENT_PATTERN,
    description,
    ...more,
  })

const oneOf = <T extends string>(words: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: words, default: words[0], description })

const Stage = Type.Object({
  workers: countOrPercent(
    1,
    'How many workers have the new config in this stage, as a number or as a percentage of the online workers.',
  ),
  bakeSeconds: Type.Optional(
    int('int32', 'How long the updated workers run before they are judged.', { ...BAKE_SECONDS }),
  ),
  approval: Type.Optional(
    oneOf(APPROVALS, 'Manual: after the bake, wait until a user promotes the rollout. Auto: continue.'),
  ),
})
export type Stage = Static<typeof Stage>

export const Rollout = Type.Object(
  {
    stages: Type.Optional(
      Type.Array(Stage, {
        maxItems: MAX_STAGES,
        'x-kubernetes-list-type': 'atomic',
        default: DEFAULT_STAGES,
        description:
          'The stages of a rollout. A last one for all workers always follows, and bakes as long as the one before. ' +
          'An empty list: all workers get the new config immediately, and nothing is judged.',
      }),
    ),
    spreadLabel: Type.Optional(
      Type.String({
        maxLength: MAX_WORKER_LABEL_CHARS,
        pattern: WORKER_LABEL_KEY_PATTERN,
        description: 'A label of the workers. A stage takes workers with different values of it in turn.',
      }),
    ),
    maxUnavailable: Type.Optional(
      countOrPercent(
        0,
        'How many workers may be unavailable, as a number or as a percentage of those that should be online. ' +
          'While more of the updated workers are, no further worker gets another revision.',
        { default: DEFAULT_MAX_UNAVAILABLE },
      ),
    ),
    ackTimeoutSeconds: Type.Optional(
      int('int32', 'How long an online worker may take to acknowledge a config before it counts as unavailable.', {
        ...ACK_TIMEOUT_SECONDS,
      }),
    ),
    progressDeadlineSeconds: Type.Optional(
      int(
        'int32',
        'How long a rollout may go without progress. With stages it then fails; without, the set is `Stalled`.',
        { ...PROGRESS_DEADLINE_SECONDS },
      ),
    ),
    gates: Type.Optional(Gates),
    onFailure: Type.Optional(
      oneOf(FAILURE_ACTIONS, 'When a rollout fails: Rollback returns the updated workers, Pause leaves them.'),
    ),
    onInconclusive: Type.Optional(
      oneOf(
        INCONCLUSIVE_ACTIONS,
        'When there were too few runs for a judgement: Pause waits for more, Continue does not.',
      ),
    ),
  },
  {
    // Whole, because the API server checks the rule below on it without the defaults of its fields.
    default: {
      stages: DEFAULT_STAGES,
      maxUnavailable: DEFAULT_MAX_UNAVAILABLE,
      ackTimeoutSeconds: ACK_TIMEOUT_SECONDS.default,
      progressDeadlineSeconds: PROGRESS_DEADLINE_SECONDS.default,
      gates: {
        minRuns: MIN_RUNS.default,
        errors: { max: DEFAULT_MAX_ERRORS },
        failureRate: { maxIncrease: DEFAULT_MAX_INCREASE },
      },
      onFailure: FAILURE_ACTIONS[0],
      onInconclusive: INCONCLUSIVE_ACTIONS[0],
    },
    description: 'How a changed config reaches the workers.',
    ...rules({
      rule: 'self.progressDeadlineSeconds > self.ackTimeoutSeconds',
      message: 'progressDeadlineSeconds must be greater than ackTimeoutSeconds',
    }),
  },
)
export type Rollout = Static<typeof Rollout>

/** The status has no rollout when it is complete. */
const PHASES = ROLLOUT_PHASES.filter((phase) => phase !== 'Complete')
export type Phase = (typeof PHASES)[number]

const FAILED_PHASES: ReadonlySet<string> = new Set<Phase>(['Failed', 'RollingBack', 'RolledBack'])

/** Whether the rollout has failed, whatever happens with its workers since. */
export const isFailedPhase = (phase: string | undefined): boolean => phase !== undefined && FAILED_PHASES.has(phase)

/** In place of a gate, in the entry of a failed revision: a user ended the rollout; it made no progress in time. */
export const ABORTED = 'aborted'
export const OUT_OF_TIME = 'progressDeadline'

const counters = (description: string) =>
  Type.Optional(
    Type.Unsafe<Readonly<Record<string, number>>>({
      type: 'object',
      maxProperties: MAX_WINDOW_COUNTERS,
      additionalProperties: { type: 'number', format: 'double' },
      description,
    }),
  )

const Window = Type.Object(
  {
    updated: counters('Of the update revision, when the bake began.'),
    current: counters('Of the current revision, when the bake began.'),
    baseline: counters('What workers did under the current revision while the stage before was baked.'),
    workers: Type.Optional(int('int32', 'Number of these workers.')),
  },
  { description: 'Counters at the master, from which a restarted operator continues the bake.' },
)

export const RolloutStatus = Type.Object(
  {
    revision: text(63, 'The revision that is rolled out.'),
    attempt: int('int32', 'How often this revision was rolled out; 1 for the first time.'),
    stage: int('int32', 'The present stage, from 1.'),
    stages: int('int32', 'Number of stages, with the last one for all workers.'),
    limit: Type.Optional(int('int32', 'At most so many workers have the revision in this stage. Absent: all.')),
    phase: Type.Unsafe<Phase>({ type: 'string', enum: PHASES, description: 'What the stage waits for.' }),
    since: time("Since when, by the master's clock."),
    epoch: text(64, 'The epoch of the master’s store.'),
    window: Type.Optional(Window),
    gates: Type.Optional(
      Type.Array(GateResult, {
        maxItems: MAX_GATE_RESULTS,
        'x-kubernetes-list-type': 'atomic',
        description: 'How the updated workers compare with those that have the current revision.',
      }),
    ),
  },
  { description: 'The rollout that is under way, or that failed. Absent when the last one is complete.' },
)
export type RolloutStatus = Static<typeof RolloutStatus>
export type RolloutWindow = NonNullable<RolloutStatus['window']>

export const FailedRevision = Type.Object({
  revision: text(63, 'The revision.'),
  attempts: Type.Optional(int('int32', 'How often it was rolled out.')),
  time: time('When it failed.'),
  stage: Type.Optional(int('int32', 'The stage in which it failed. Absent: the master refused the config.')),
  gate: Type.Optional(text(64, 'The gate that failed, or why else.')),
  message: text(MAX_FAILURE_MESSAGE_CHARS, 'Why it failed.'),
})
export type FailedRevision = Static<typeof FailedRevision>
