/**
 * @module protocol/rollouts
 * Defines the bodies of rollout reports: how the rollout of a new config to many workers stands. The operator writes a
 * report for each FleetWorkerSet, and the dashboard reads it. A master stores it and does nothing else with it.
 * @see D148
 */
import { Type, type Static } from 'typebox'
import {
  Maybe,
  ManagedBy,
  NAME_PATTERN,
  Nullable,
  PERCENT_PATTERN,
  Pointer,
  RevisionName,
  Seconds,
  Strict,
  WorkerId,
} from './names.ts'

/** Greatest length of each list of a report, and of its texts in characters; greatest number of runs. */
export const ROLLOUT_BOUNDS = {
  stages: 10,
  gates: 11,
  worst: 20,
  changedFields: 32,
  failed: 5,
  shortChars: 64,
  lineChars: 240,
  messageChars: 512,
  runs: 1_000_000_000_000,
} as const
/** That of an int32, as in the status of a set. */
const MAX_COUNT = 2_147_483_647
/** Unix seconds in the year 5138. */
const MAX_SECONDS = 100_000_000_000

/** The phases of a rollout: under way, as the operator passes them; then the four in which one ends or returns. */
export const ROLLOUT_PHASES = [
  'Writing',
  'Acknowledging',
  'Baking',
  'WaitingForApproval',
  'Inconclusive',
  'Failed',
  'RollingBack',
  'RolledBack',
  'Complete',
] as const
/** What a gate concludes. `NoTraffic` and `NotApplicable` pass. */
export const ROLLOUT_VERDICTS = ['Passed', 'Failed', 'Inconclusive', 'NoTraffic', 'NotApplicable'] as const

const Text = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: NAME_PATTERN, format: 'well-formed' })
const ShortText = Text(ROLLOUT_BOUNDS.shortChars)
const Line = Text(ROLLOUT_BOUNDS.lineChars)
const Message = Text(ROLLOUT_BOUNDS.messageChars)
const Count = Type.Integer({ minimum: 0, maximum: MAX_COUNT })
const Runs = Type.Integer({ minimum: 0, maximum: ROLLOUT_BOUNDS.runs })
const Time = Type.Number({ minimum: 0, maximum: MAX_SECONDS, description: 'unix seconds' })
const StageNumber = Type.Integer({ minimum: 0, maximum: ROLLOUT_BOUNDS.stages + 1 })
const Phase = Type.Enum([...ROLLOUT_PHASES])
const Verdict = Type.Enum([...ROLLOUT_VERDICTS])
const Cause = Type.Enum(['edit', 'source', 'retry'])

/** The FleetWorkerSet that the report is about. */
const ReportedSet = Strict({
  namespace: ShortText,
  name: Text(253),
  uid: ShortText,
})

/** A stage of the spec. The last one, for all workers, is not listed. */
const ReportedStage = Strict({
  workers: Type.Union([
    Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    Type.String({ maxLength: 4, pattern: PERCENT_PATTERN }),
  ]),
  bake_seconds: Type.Integer({ minimum: 0, maximum: 86_400 }),
  approval: Type.Enum(['Auto', 'Manual']),
})

/** Number of workers in each state, as in the status of the set. */
const ReportedCounts = Strict({
  matched: Count,
  online: Count,
  updated: Count,
  acknowledged: Count,
  ready: Count,
  unavailable: Count,
  absent: Count,
  pending: Count,
  failed: Count,
  pinned: Count,
  conflicted: Count,
  cordoned: Count,
})

const WorstWorker = Strict({ worker: WorkerId, reason: ShortText, message: Line })

/** What a person can do, as one sentence and as a command. */
const NextStep = Strict({ text: Message, command: Maybe(Text(640)) })

const required = {
  set: ReportedSet,
  update_revision: RevisionName,
  attempt: Type.Integer({ minimum: 1, maximum: MAX_COUNT }),
  phase: Phase,
  stage: StageNumber,
  stages: StageNumber,
  since: Time,
  counts: ReportedCounts,
  message: Message,
}

/** The body that stores a report, at most 16 KiB as JSON. */
export const RolloutBody = Strict({
  ...required,
  managed_by: Maybe(ManagedBy),
  current_revision: Maybe(RevisionName),
  cause: Maybe(Cause),
  paused: Maybe(Type.Boolean()),
  held: Maybe(Type.Boolean()),
  stage_list: Maybe(Type.Array(ReportedStage, { maxItems: ROLLOUT_BOUNDS.stages })),
  limit: Maybe(Count),
  started_at: Maybe(Time),
  gates: Maybe(
    Type.Array(
      Strict({
        name: ShortText,
        verdict: Verdict,
        updated: Maybe(ShortText),
        current: Maybe(ShortText),
        allowed: Maybe(ShortText),
        updated_runs: Maybe(Runs),
        current_runs: Maybe(Runs),
        message: Maybe(Line),
      }),
      { maxItems: ROLLOUT_BOUNDS.gates },
    ),
  ),
  worst: Maybe(Type.Array(WorstWorker, { maxItems: ROLLOUT_BOUNDS.worst })),
  changed_fields: Maybe(Type.Array(Pointer, { maxItems: ROLLOUT_BOUNDS.changedFields })),
  failed: Maybe(
    Type.Array(
      Strict({
        revision: RevisionName,
        attempts: Maybe(Count),
        failed_at: Time,
        stage: Maybe(StageNumber),
        gate: Maybe(ShortText),
        message: Message,
      }),
      { maxItems: ROLLOUT_BOUNDS.failed },
    ),
  ),
  next: NextStep,
})
export type RolloutBody = Static<typeof RolloutBody>

/** A stored report. A field that was left out is null, or an empty list. */
export const RolloutShown = Type.Object({
  rollout: Type.String(),
  reported_at: Seconds,
  set: Type.Object({ namespace: Type.String(), name: Type.String(), uid: Type.String() }),
  managed_by: Nullable(Type.String()),
  update_revision: Type.String(),
  current_revision: Nullable(Type.String()),
  attempt: Type.Integer(),
  cause: Nullable(Cause),
  phase: Phase,
  paused: Type.Boolean(),
  held: Type.Boolean(),
  stage: Type.Integer(),
  stages: Type.Integer(),
  stage_list: Type.Array(
    Type.Object({
      workers: Type.Union([Type.Integer(), Type.String()]),
      bake_seconds: Type.Integer(),
      approval: Type.Enum(['Auto', 'Manual']),
    }),
  ),
  limit: Nullable(Type.Integer()),
  started_at: Nullable(Seconds),
  since: Seconds,
  counts: Type.Object({
    matched: Type.Integer(),
    online: Type.Integer(),
    updated: Type.Integer(),
    acknowledged: Type.Integer(),
    ready: Type.Integer(),
    unavailable: Type.Integer(),
    absent: Type.Integer(),
    pending: Type.Integer(),
    failed: Type.Integer(),
    pinned: Type.Integer(),
    conflicted: Type.Integer(),
    cordoned: Type.Integer(),
  }),
  gates: Type.Array(
    Type.Object({
      name: Type.String(),
      verdict: Verdict,
      updated: Nullable(Type.String()),
      current: Nullable(Type.String()),
      allowed: Nullable(Type.String()),
      updated_runs: Nullable(Type.Integer()),
      current_runs: Nullable(Type.Integer()),
      message: Nullable(Type.String()),
    }),
  ),
  worst: Type.Array(Type.Object({ worker: Type.String(), reason: Type.String(), message: Type.String() })),
  changed_fields: Type.Array(Type.String()),
  failed: Type.Array(
    Type.Object({
      revision: Type.String(),
      attempts: Nullable(Type.Integer()),
      failed_at: Seconds,
      stage: Nullable(Type.Integer()),
      gate: Nullable(Type.String()),
      message: Type.String(),
    }),
  ),
  message: Type.String(),
  next: Type.Object({ text: Type.String(), command: Nullable(Type.String()) }),
})
export type RolloutShown = Static<typeof RolloutShown>
/** The reports of a type, by name. */
export const RolloutsBody = Type.Object({ rollouts: Type.Array(RolloutShown) })
export type RolloutsBody = Static<typeof RolloutsBody>
/** The response to the removal of a report. */
export const RolloutRemovedBody = Type.Object({ rollout: Type.String(), removed: Type.Boolean() })
export type RolloutRemovedBody = Static<typeof RolloutRemovedBody>

/** What the overview shows of a report. `set`: the set, as `namespace/name`. `since`: when the phase began. */
export const OverviewRollout = Type.Object({
  name: Type.String(),
  set: Type.String(),
  phase: Phase,
  paused: Type.Boolean(),
  since: Seconds,
  stage: Type.Integer(),
  stages: Type.Integer(),
})
export type OverviewRollout = Static<typeof OverviewRollout>
