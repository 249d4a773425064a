/**
 * @module operator/fleetworkerset/stage-condition
 * Says as a reason and a sentence how a rollout with stages stands, and what a person can do. Part of conditions.ts.
 */
import { PROMOTE_ANNOTATION, RETRY_ANNOTATION } from './acts.ts'
import type { RolloutFacts } from './conditions.ts'
import { isFailedPhase, OUT_OF_TIME, type Phase, type RolloutStatus } from './rollout-schema.ts'

/** A reason of Ready. */
type StageReason =
  | 'RollingOut'
  | 'WaitingForApproval'
  | 'Paused'
  | 'RollingBack'
  | 'RolledBack'
  | 'GateFailed'
  | 'Inconclusive'
  | 'ProgressDeadlineExceeded'

interface StageState {
  readonly reason: StageReason
  readonly message: string
}

export function stageState(facts: RolloutFacts, rollout: RolloutStatus): StageState {
  const isHeldByUser = facts.isPaused && !isFailedPhase(rollout.phase)
  if (!isHeldByUser) return STATES[rollout.phase](facts, rollout)
  return { reason: 'Paused', message: `spec.paused is true: ${placeOf(rollout)} waits, ${progressOf(facts)}` }
}

const rollingOut =
  (activity: string) =>
  (facts: RolloutFacts, rollout: RolloutStatus): StageState => ({
    reason: 'RollingOut',
    message: `${placeOf(rollout)}, ${activity}: ${progressOf(facts)}${heldText(facts)}`,
  })

const STATES: Readonly<Record<Phase, (facts: RolloutFacts, rollout: RolloutStatus) => StageState>> = {
  Writing: rollingOut('writing'),
  Acknowledging: rollingOut('waiting for acknowledgements'),
  Baking: rollingOut('baking'),
  WaitingForApproval: (facts, rollout) => ({
    reason: 'WaitingForApproval',
    message: `${placeOf(rollout)} has passed, ${progressOf(facts)}; ${promotion(rollout)}`,
  }),
  Inconclusive: (facts, rollout) => ({
    reason: 'Inconclusive',
    message: `too few runs to judge ${placeOf(rollout)}, ${progressOf(facts)}; ${promotion(rollout)}`,
  }),
  RollingBack: (facts) => ({
    reason: 'RollingBack',
    message: `${causeOf(facts)}; ${workers(facts.waiting)} must still acknowledge the current revision`,
  }),
  RolledBack: (facts, rollout) => ({
    reason: 'RolledBack',
    message: `${causeOf(facts)}; the workers are back on the current revision; ${retry(rollout)}`,
  }),
  Failed: (facts, rollout) => ({
    reason: facts.failure?.gate === OUT_OF_TIME ? 'ProgressDeadlineExceeded' : 'GateFailed',
    message: `${causeOf(facts)}; ${placeOf(rollout)} stays as it is, ${progressOf(facts)}; ${retry(rollout)}`,
  }),
}

const placeOf = ({ stage, stages }: RolloutStatus): string => `stage ${stage} of ${stages}`

const progressOf = ({ counts }: RolloutFacts): string =>
  `${counts.updated} of ${workers(counts.updated + counts.pending)} updated, ${counts.acknowledged} acknowledged`

const causeOf = ({ failure }: RolloutFacts): string => failure?.message ?? 'the rollout failed'

const promotion = ({ revision, stage }: RolloutStatus): string =>
  `continue with muster rollout promote, or the annotation ${PROMOTE_ANNOTATION}: ${revision}/${stage}`

const retry = ({ attempt, revision }: RolloutStatus): string =>
  `change the config, or try again with muster rollout retry, or the annotation ` +
  `${RETRY_ANNOTATION}: ${revision}/${attempt + 1}`

/** Why no further worker is written; empty if that is not so. */
export const heldText = ({ counts, isHeld, maxUnavailable }: RolloutFacts): string =>
  isHeld ? `; waiting: ${counts.unavailable} are unavailable, at most ${maxUnavailable} may be` : ''

export const workers = (count: number): string => `${count} ${count === 1 ? 'worker' : 'workers'}`
