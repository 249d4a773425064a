/**
 * @module operator/fleetworkerset/stage-machine
 * Decides the next step of a rollout with stages. Pure: the caller stores the result in the status before it acts on
 * it, so an operator that is killed at any moment continues where the status says.
 *
 *   edit ─▶ Writing ─▶ Acknowledging ─▶ Baking ─┬─▶ next stage, from Writing ─▶ … ─▶ complete: it is the current one
 *              ▲                                 ├─▶ WaitingForApproval ─ promote ─▶ next stage
 *              └──────── next attempt ───┐       └─▶ Inconclusive ─ more runs, or promote ─▶ next stage
 *                                        │
 *   a gate fails, no progress, abort ─▶ RollingBack ─▶ RolledBack     with onFailure: Pause ─▶ Failed
 *
 * A revision that failed is remembered in the status. It is not rolled out again before a user asks for another
 * attempt, however often the same spec is applied; the controller never changes the spec.
 */
import { stageVerdict, type GateResult } from './gates/index.ts'
import type { Acts } from './acts.ts'
import {
  ABORTED,
  BAKE_SECONDS,
  isFailedPhase,
  MAX_FAILED_REVISIONS,
  MAX_FAILURE_MESSAGE_CHARS,
  OUT_OF_TIME,
  type FailedRevision,
  type Phase,
  type RolloutStatus,
  type RolloutWindow,
  type Stage,
} from './rollout-schema.ts'
import { stageAfter } from './stages.ts'
import { fitText } from './status-size.ts'

/** What the status stores about rollouts. */
export interface RolloutState {
  /** The revision of the last complete rollout, to which a failed one returns. `undefined`: there was none. */
  readonly current: string | undefined
  readonly rollout: RolloutStatus | undefined
  readonly failed: readonly FailedRevision[]
}

/** The members of the set, as a rollout sees them. */
export interface Cohort {
  readonly online: number
  /** Workers that have the new config, and how many of them are online. */
  readonly updated: number
  readonly updatedOnline: number
  /** Workers that may get the new config in this stage and were not refused. */
  readonly left: number
  /** Online workers of the new config that owe an acknowledgement in time; and of any config of the set. */
  readonly updatedWaiting: number
  readonly waiting: number
  /** Workers with a config that the set did not write, which run. */
  readonly foreignRunning: number
  /** The revision that every online worker has from this set; `undefined` if there are several, or none. */
  readonly soleRevision: string | undefined
}

export interface StageFacts {
  readonly desired: string
  readonly state: RolloutState
  readonly stages: readonly Stage[]
  readonly onFailure: 'Rollback' | 'Pause'
  readonly onInconclusive: 'Pause' | 'Continue'
  readonly isPaused: boolean
  readonly acts: Acts
  readonly cohort: Cohort
  /** How long the present phase has lasted, and how long there was no progress in it, in milliseconds. */
  readonly phaseMs: number
  readonly idleMs: number
  readonly ackTimeoutMs: number
  readonly progressDeadlineMs: number
  /** Counters of both revisions at the master; `undefined`: they could not be read. */
  readonly counters: RolloutWindow | undefined
  /** The gates were edited since the bake began. */
  readonly isWindowOutdated: boolean
  /** The gates as they are now; those of a bake may be judged at any time. */
  readonly gates: readonly GateResult[]
  /** What workers did under the current revision since the bake began. */
  readonly baseline: RolloutWindow['baseline']
  /** RFC 3339, by the master's clock. */
  readonly now: string
  readonly epoch: string
}

export interface Step {
  readonly state: RolloutState
  readonly event?: { readonly isWarning: boolean; readonly reason: string; readonly message: string }
}

/** @returns what to store next; `undefined`: nothing changes now. */
export function nextStep(facts: StageFacts): Step | undefined {
  const { acts, desired, stages, state } = facts
  if (desired === state.current) return withoutRollout(facts)
  const mine = state.rollout?.revision === desired ? state.rollout : undefined
  const failure = failureOf(state.failed, desired)
  const attempt = (failure?.attempts ?? 0) + 1
  const isUnderWay = mine?.attempt === attempt
  if (failure !== undefined && !isUnderWay && !acts.retries(desired, attempt))
    return mine === undefined ? step(facts, { rollout: rememberedFailure(facts, failure) }) : afterFailure(facts, mine)
  if (stages.length === 0) return withoutRollout(facts)
  if (isUnderWay) return resume(facts, mine)
  const adopted = failure === undefined ? adoptable(facts) : undefined
  if (adopted !== undefined)
    return step(facts, { current: adopted, rollout: undefined, failed: without(state.failed, adopted) })
  return launch(facts, attempt, mine)
}

function launch(facts: StageFacts, attempt: number, mine: RolloutStatus | undefined): Step | undefined {
  if (!facts.isPaused) return begin(facts, attempt)
  return mine === undefined ? withoutRollout(facts) : undefined
}

function resume(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  if (facts.epoch !== '' && rollout.epoch !== facts.epoch) return restart(facts, rollout)
  return facts.isPaused ? aborted(facts, rollout) : advance(facts, rollout)
}

/** A rollout that was superseded by another edit, or reverted, is no failure. */
const withoutRollout = (facts: StageFacts): Step | undefined =>
  facts.state.rollout === undefined ? undefined : step(facts, { rollout: undefined })

/**
 * Selects the revision that a set without a current one begins with: the one that all online workers have, because the
 * status was lost, or else, while no worker runs another config, the one of the spec.
 */
function adoptable({ cohort, desired, state }: StageFacts): string | undefined {
  if (state.current !== undefined) return undefined
  return cohort.soleRevision ?? (cohort.foreignRunning === 0 ? desired : undefined)
}

/** @returns the entry of a revision that failed while it was rolled out; not that of one that the master refused. */
export const failureOf = (failed: readonly FailedRevision[], revision: string): FailedRevision | undefined =>
  failed.find((each) => each.revision === revision && each.stage !== undefined)

/** A revision that all workers run is no failed one any more. */
const without = (failed: readonly FailedRevision[], revision: string): readonly FailedRevision[] =>
  failed.filter((each) => each.revision !== revision)

/** Whether this revision is being rolled out, without a failure so far. */
export const isLive = (rollout: RolloutStatus | undefined, revision: string): rollout is RolloutStatus =>
  rollout?.revision === revision && !isFailedPhase(rollout.phase)

const isLast = ({ stages }: StageFacts, { stage }: RolloutStatus): boolean => stage > stages.length

function begin(facts: StageFacts, attempt: number): Step {
  const first = stageAfter(facts.stages, 0, 0, facts.cohort.online)
  const rollout = enter(facts, { revision: facts.desired, attempt, ...first })
  const replaces = facts.state.current === undefined ? '' : `, replaces ${facts.state.current}`
  return step(facts, { rollout }, 'RolloutStarted', `revision ${facts.desired}, attempt ${attempt}${replaces}`)
}

/** The master has lost its store, and with it what workers had. */
const restart = (facts: StageFacts, { attempt, revision }: RolloutStatus): Step =>
  step(facts, {
    rollout: enter(facts, { revision, attempt, ...stageAfter(facts.stages, 0, 0, facts.cohort.online) }),
  })

function advance(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  const { acts, gates } = facts
  const stopped = aborted(facts, rollout)
  if (stopped !== undefined) return stopped
  if (acts.promotesAll(rollout.revision)) return advanceToAll(facts, rollout)
  if (facts.isWindowOutdated && (rollout.phase === 'Baking' || rollout.phase === 'Inconclusive'))
    return bake(facts, rollout)
  const failed = gates.find(({ verdict }) => verdict === 'Failed')
  if (failed !== undefined) return fail(facts, rollout, failed.name, failed.message ?? `the gate ${failed.name} failed`)
  return STEPS[rollout.phase](facts, rollout)
}

/** What each phase waits for. A failed rollout advances in `afterFailure`. */
const STEPS: Readonly<Record<Phase, (facts: StageFacts, rollout: RolloutStatus) => Step | undefined>> = {
  Writing: (facts, rollout) => {
    const { cohort, idleMs, progressDeadlineMs } = facts
    if (cohort.left === 0 || cohort.updated >= (rollout.limit ?? Infinity)) return move(facts, rollout, 'Acknowledging')
    if (idleMs < progressDeadlineMs) return undefined
    return fail(facts, rollout, OUT_OF_TIME, 'no progress within progressDeadlineSeconds')
  },
  Acknowledging: (facts, rollout) => (hasAcknowledged(facts) ? bake(facts, rollout) : undefined),
  Baking: (facts, rollout) => (facts.phaseMs < bakeMs(facts, rollout) ? undefined : judge(facts, rollout)),
  Inconclusive: (facts, rollout) =>
    hasTooFewRuns(facts) && !isPromoted(facts, rollout) ? undefined : pass(facts, rollout),
  // The counters are kept for comparison with the last stage.
  WaitingForApproval: (facts, rollout) =>
    isPromoted(facts, rollout) && facts.counters !== undefined ? continueAfter(facts, rollout) : undefined,
  Failed: () => undefined,
  RollingBack: () => undefined,
  RolledBack: () => undefined,
}

const isPromoted = ({ acts }: StageFacts, { revision, stage }: RolloutStatus): boolean => acts.promotes(revision, stage)

const hasAcknowledged = ({ ackTimeoutMs, cohort, phaseMs }: StageFacts): boolean =>
  cohort.updatedWaiting === 0 || phaseMs >= ackTimeoutMs

/** All workers get the config now, and the rollout is complete when they run it. */
function advanceToAll(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  if (!isLast(facts, rollout)) return step(facts, { rollout: enter(facts, { ...rollout, ...lastStage(facts) }) })
  if (rollout.phase === 'Writing') return facts.cohort.left === 0 ? move(facts, rollout, 'Acknowledging') : undefined
  return rollout.phase !== 'Acknowledging' || hasAcknowledged(facts) ? complete(facts, rollout) : undefined
}

const lastStage = ({ stages }: StageFacts) => ({ stage: stages.length + 1, limit: undefined })

/**
 * Begins the bake, with a snapshot of the counters. In the last stage no worker is left to compare with: what the
 * others did in the stage before stands in for them. Without workers there is nothing to judge.
 */
function bake(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  const { cohort, counters } = facts
  if (cohort.updated === 0) return pass(facts, rollout)
  if (counters === undefined) return undefined
  const { updated, current } = counters
  const { baseline, workers = 0 } = rollout.window ?? {}
  if (baseline === undefined || !isLast(facts, rollout))
    return move(facts, rollout, 'Baking', { ...(updated && { updated }), ...(current && { current }) })
  return move(facts, rollout, 'Baking', { ...(updated && { updated }), baseline, workers })
}

/** How long the present stage bakes, in milliseconds. The last one bakes as long as the one before. */
export function bakeMs({ stages }: Pick<StageFacts, 'stages'>, { stage }: Pick<RolloutStatus, 'stage'>): number {
  const found = stages[Math.min(stage, stages.length) - 1]
  return (found?.bakeSeconds ?? BAKE_SECONDS.default) * 1_000
}

function judge(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  const { cohort, counters, gates, onInconclusive, phaseMs, progressDeadlineMs } = facts
  if (counters === undefined) return undefined
  if (!isInconclusive(gates) && cohort.updatedOnline > 0) return pass(facts, rollout)
  if (phaseMs < bakeMs(facts, rollout) + progressDeadlineMs) return undefined
  return onInconclusive === 'Continue' ? pass(facts, rollout) : move(facts, rollout, 'Inconclusive')
}

const hasTooFewRuns = ({ counters, gates }: StageFacts): boolean => counters === undefined || isInconclusive(gates)

const isInconclusive = (gates: readonly GateResult[]): boolean => stageVerdict(gates) === 'Inconclusive'

function pass(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  if (isLast(facts, rollout)) return complete(facts, rollout)
  const isApproved = facts.stages[rollout.stage - 1]?.approval !== 'Manual' || isPromoted(facts, rollout)
  return isApproved ? continueAfter(facts, rollout) : move(facts, rollout, 'WaitingForApproval')
}

function continueAfter(facts: StageFacts, rollout: RolloutStatus): Step {
  const { baseline, cohort, stages } = facts
  const next = stageAfter(stages, rollout.stage, rollout.limit ?? 0, cohort.online)
  const others = cohort.online - cohort.updatedOnline
  const window = baseline === undefined ? rollout.window : { baseline, workers: others }
  const message = `stage ${rollout.stage} of ${rollout.stages}, ${cohort.updated} workers have ${rollout.revision}`
  return step(facts, { rollout: enter(facts, { ...rollout, ...next, window }) }, 'StagePassed', message)
}

function complete(facts: StageFacts, { revision }: RolloutStatus): Step {
  const failed = without(facts.state.failed, revision)
  return step(
    facts,
    { current: revision, rollout: undefined, failed },
    'RolloutComplete',
    `all workers have ${revision}`,
  )
}

function aborted(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  return facts.acts.aborts(rollout.revision, rollout.attempt)
    ? fail(facts, rollout, ABORTED, `aborted by the annotation ${rollout.revision}/${rollout.attempt}`)
    : undefined
}

function fail(facts: StageFacts, rollout: RolloutStatus, gate: string, message: string): Step {
  const { attempt, revision, stage } = rollout
  const entry = {
    revision,
    attempts: attempt,
    time: facts.now,
    stage,
    gate,
    message: fitText(message, MAX_FAILURE_MESSAGE_CHARS),
  }
  const failed = [...without(facts.state.failed, revision), entry].slice(-MAX_FAILED_REVISIONS)
  const phase = phaseAfterFailure(facts, gate)
  const failure = { ...at(facts, { ...rollout, phase }), ...(facts.gates.length > 0 && { gates: [...facts.gates] }) }
  const where = `revision ${revision} failed in stage ${stage} of ${rollout.stages}: ${message}`
  return step(facts, { rollout: failure, failed }, gate === ABORTED ? 'RolloutAborted' : 'GateFailed', where)
}

/** Without a current revision there is nothing to return to. */
function phaseAfterFailure({ onFailure, state }: StageFacts, gate: string | undefined): Phase {
  if (state.current === undefined) return 'Failed'
  return onFailure === 'Rollback' || gate === ABORTED ? 'RollingBack' : 'Failed'
}

/** The spec names a revision that failed earlier, and the status describes no rollout of it any more. */
function rememberedFailure(
  facts: StageFacts,
  { attempts = 1, gate, revision, stage = 1 }: FailedRevision,
): RolloutStatus {
  const phase = phaseAfterFailure(facts, gate)
  return at(facts, { revision, attempt: attempts, stage, stages: facts.stages.length + 1, phase })
}

function afterFailure(facts: StageFacts, rollout: RolloutStatus): Step | undefined {
  const { acts, ackTimeoutMs, cohort, phaseMs, state } = facts
  if (rollout.phase === 'RollingBack') {
    const hasReturned = cohort.updated === 0 && cohort.waiting === 0
    return hasReturned || phaseMs >= ackTimeoutMs ? move(facts, rollout, 'RolledBack') : undefined
  }
  if (rollout.phase !== 'Failed') return undefined
  // As another attempt: the annotation that aborted this one may still be there.
  if (acts.promotesAll(rollout.revision))
    return step(facts, { rollout: enter(facts, { ...rollout, ...lastStage(facts), attempt: rollout.attempt + 1 }) })
  const isAborted = acts.aborts(rollout.revision, rollout.attempt) && state.current !== undefined
  return isAborted ? move(facts, rollout, 'RollingBack') : undefined
}

const move = (facts: StageFacts, rollout: RolloutStatus, phase: Phase, window = rollout.window): Step =>
  step(facts, { rollout: at(facts, { ...rollout, phase, ...(window !== undefined && { window }) }) })

type Entered = Pick<RolloutStatus, 'revision' | 'attempt' | 'stage'> & {
  readonly limit: number | undefined
  readonly window?: RolloutWindow | undefined
}

const enter = (facts: StageFacts, { revision, attempt, stage, limit, window }: Entered): RolloutStatus =>
  at(facts, {
    revision,
    attempt,
    stage,
    stages: facts.stages.length + 1,
    ...(limit !== undefined && { limit }),
    phase: 'Writing',
    ...(window !== undefined && { window }),
  })

const at = ({ epoch, now }: StageFacts, rollout: Omit<RolloutStatus, 'since' | 'epoch'>): RolloutStatus => ({
  ...rollout,
  since: now,
  epoch,
})

function step({ state }: StageFacts, change: Partial<RolloutState>, reason?: string, message = ''): Step {
  const isWarning = reason === 'GateFailed' || reason === 'RolloutAborted'
  return { state: { ...state, ...change }, ...(reason !== undefined && { event: { isWarning, reason, message } }) }
}
