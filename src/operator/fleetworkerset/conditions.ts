/**
 * @module operator/fleetworkerset/conditions
 * Computes the conditions of one FleetWorkerSet: one pure function from facts to the list in the status.
 *
 *   Synced       the master has the config of spec for every worker of the set  ─┐
 *   Available    at most maxUnavailable workers are unavailable                    ├─▶ Ready
 *   Progressing  whether a rollout runs, is complete or has failed; for people     ─┘
 *   Reconciling, Stalled, RolledBack, Drifted, Conflicted: present only while true; the first two never together
 *
 * A set without workers is Ready, because scaled to zero is a normal state. Reasons are API: they are defined here, and
 * the reference lists them.
 * @see D43; kstatus, https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
 */
import {
  MAX_MESSAGE_CHARS,
  mergedConditions,
  type Condition,
  type ConditionState,
  type ConditionStatus,
} from '../config/index.ts'
import type { GateResult } from './gates/index.ts'
import type { FailedRevision, RolloutStatus } from './rollout-schema.ts'
import type { WorkerCounts } from './schema.ts'
import { heldText, stageState, workers } from './stage-condition.ts'
import { fitText } from './status-size.ts'

const SYNCED = {
  InSync: 'True',
  DriftTolerated: 'True',
  Updating: 'False',
  RolloutFailed: 'False',
  UnknownType: 'False',
  ConfigInvalid: 'False',
  Rejected: 'False',
  SourceNotFound: 'False',
  SourceForbidden: 'False',
  SecretNotWriteOnly: 'False',
  Forbidden: 'False',
  NotPermitted: 'False',
  OwnershipConflict: 'False',
  MasterTooOld: 'False',
  Pending: 'Unknown',
  Suspended: 'Unknown',
  ObserveOnly: 'Unknown',
  MasterUnreachable: 'Unknown',
} as const satisfies Record<string, ConditionStatus>
export type SetSyncedReason = keyof typeof SYNCED

const READY = {
  Complete: 'True',
  NoWorkers: 'True',
  Suspended: 'True',
  ObserveOnly: 'True',
  RollingOut: 'False',
  WaitingForApproval: 'False',
  Paused: 'False',
  RollingBack: 'False',
  RolledBack: 'False',
  GateFailed: 'False',
  Inconclusive: 'False',
  ProgressDeadlineExceeded: 'False',
  Unavailable: 'False',
  WorkloadNotFound: 'False',
  WorkloadForbidden: 'False',
  WorkloadConflict: 'False',
  Releasing: 'False',
  Pending: 'Unknown',
  MasterUnreachable: 'Unknown',
} as const satisfies Record<string, ConditionStatus>

/** Every type with its reasons and their status. Ready and Progressing also have the reasons of a Synced that fails. */
export const SET_REASONS = {
  Ready: READY,
  Synced: SYNCED,
  Available: { WorkersAvailable: 'True', TooManyUnavailable: 'False', Pending: 'Unknown' },
} as const

/** Reasons of Ready that end without a user, or when another object changes. */
const RECONCILING: ReadonlySet<string> = new Set([
  'Updating',
  'RollingOut',
  'WaitingForApproval',
  'Paused',
  'RollingBack',
  'Releasing',
  'SourceNotFound',
  'SourceForbidden',
  'Forbidden',
  'MasterUnreachable',
  'WorkloadNotFound',
  'WorkloadForbidden',
  'WorkloadConflict',
])
/** Reasons of Ready that need a user. */
const STALLED: ReadonlySet<string> = new Set([
  'Rejected',
  'ConfigInvalid',
  'UnknownType',
  'SecretNotWriteOnly',
  'NotPermitted',
  'OwnershipConflict',
  'MasterTooOld',
  'ProgressDeadlineExceeded',
  'RolledBack',
  'GateFailed',
  'Inconclusive',
])

/** Why the workload of the set cannot be scaled. */
export interface ScaleProblem {
  readonly reason: 'WorkloadNotFound' | 'WorkloadForbidden' | 'WorkloadConflict'
  readonly message: string
}

/** How the rollout stands. */
export interface RolloutFacts {
  readonly counts: Required<WorkerCounts>
  /** Online workers that owe an acknowledgement in time. */
  readonly waiting: number
  readonly maxUnavailable: number
  readonly isHeld: boolean
  /** The rollout has made no progress for `progressDeadlineSeconds`. */
  readonly isOverdue: boolean
  /** To whom workers are left. */
  readonly holders: readonly string[]
  readonly isPaused: boolean
  /** The revision that is not rolled out yet, because rollouts are paused. */
  readonly waitsFor: string | undefined
  /** The rollout with stages that is under way or has failed. */
  readonly stage: RolloutStatus | undefined
  /** How the revision of the spec failed before. */
  readonly failure: FailedRevision | undefined
  readonly gates: readonly GateResult[]
  /** Number of runs on the current revision that gates compare with, if it is known. */
  readonly currentRuns?: number
}

export interface SetFacts {
  readonly generation: number
  readonly policy: 'Enforce' | 'Warn' | 'Observe'
  readonly suspend: boolean
  readonly isReleasing: boolean
  readonly synced: { readonly reason: SetSyncedReason; readonly message: string }
  /** `undefined`: not known. */
  readonly rollout: RolloutFacts | undefined
  readonly scaleProblem?: ScaleProblem | undefined
  /** Number of workers whose config differs and is left so. */
  readonly driftCount: number
  readonly isContested: boolean
  readonly isMasterUnavailable: boolean
  /** By the master's clock. */
  readonly nowMs: number
  /** Conditions of the current status. */
  readonly before: readonly Condition[]
}

export function setConditionsOf(facts: SetFacts): readonly Condition[] {
  const ready = readyOf(facts)
  const isStalled = STALLED.has(ready.reason) && !facts.isReleasing
  const found: readonly (readonly [type: string, state: ConditionState | undefined])[] = [
    ['Ready', ready],
    ['Synced', syncedOf(facts)],
    ['Available', availableOf(facts)],
    ['Progressing', progressingOf(facts, ready)],
    ['Reconciling', RECONCILING.has(ready.reason) ? { ...ready, status: 'True' } : undefined],
    ['Stalled', isStalled ? { ...ready, status: 'True' } : undefined],
    ['RolledBack', ready.reason === 'RolledBack' ? { ...ready, status: 'True' } : undefined],
    ['Drifted', driftedOf(facts)],
    ['Conflicted', conflictedOf(facts)],
  ]
  return mergedConditions(
    found.map(([type, state]) => [type, state && { ...state, message: fitText(state.message, MAX_MESSAGE_CHARS) }]),
    facts,
  )
}

function syncedOf(facts: SetFacts): ConditionState {
  const state = ({ reason, message }: SetFacts['synced']): ConditionState => ({
    status: SYNCED[reason],
    reason,
    message,
  })
  if (facts.suspend)
    return state({ reason: 'Suspended', message: 'spec.suspend is true: nothing is written to the master' })
  if (facts.policy === 'Observe')
    return state({ reason: 'ObserveOnly', message: 'managementPolicy is Observe: no worker is written' })
  if (!facts.isMasterUnavailable) return state(facts.synced)
  const old = facts.before.find(({ type }) => type === 'Synced')
  return old?.observedGeneration === facts.generation
    ? old
    : state({ reason: 'MasterUnreachable', message: 'the master is unavailable; this spec is applied when it is back' })
}

function availableOf({ rollout }: SetFacts): ConditionState {
  if (rollout === undefined)
    return { status: 'Unknown', reason: 'Pending', message: 'the workers were not read from the master yet' }
  const { counts, maxUnavailable } = rollout
  return counts.unavailable > maxUnavailable
    ? {
        status: 'False',
        reason: 'TooManyUnavailable',
        message: `${workers(counts.unavailable)} unavailable, at most ${maxUnavailable} may be`,
      }
    : {
        status: 'True',
        reason: 'WorkersAvailable',
        message: `${counts.ready} of ${workers(counts.online + counts.unavailable)} ready`,
      }
}

function readyOf(facts: SetFacts): ConditionState {
  const ready = (reason: keyof typeof READY, message: string): ConditionState => ({
    status: READY[reason],
    reason,
    message,
  })
  if (facts.isReleasing) return ready('Releasing', 'releasing the workers before this object is deleted')
  if (facts.suspend) return ready('Suspended', 'spec.suspend is true: nothing is written to the master')
  const synced = syncedOf(facts)
  if (synced.status === 'False' && !ROLLING.has(synced.reason)) return synced
  if (facts.policy === 'Observe') return ready('ObserveOnly', 'managementPolicy is Observe: no worker is written')
  if (facts.isMasterUnavailable) return ready('MasterUnreachable', 'the master is unavailable')
  if (facts.rollout === undefined) return ready('Pending', 'the workers were not read from the master yet')
  const state = rolloutState(facts.rollout, ready)
  const { scaleProblem } = facts
  return state.status === 'True' && scaleProblem ? ready(scaleProblem.reason, scaleProblem.message) : state
}

/** Reasons of Synced with which Ready says how far the rollout is. */
const ROLLING: ReadonlySet<string> = new Set(['Updating', 'RolloutFailed'])

type Ready = (reason: keyof typeof READY, message: string) => ConditionState

function rolloutState(facts: RolloutFacts, ready: Ready): ConditionState {
  const { counts, waiting, maxUnavailable, isOverdue, stage, waitsFor } = facts
  if (stage !== undefined) {
    const state = stageState(facts, stage)
    return ready(state.reason, state.message)
  }
  if (waitsFor !== undefined) return ready('Paused', `spec.paused is true: revision ${waitsFor} is not rolled out`)
  if (counts.matched === 0) return ready('NoWorkers', 'no worker matches the selector')
  const total = counts.updated + counts.pending
  if (counts.pending > counts.failed || waiting > 0) {
    const progress = `${counts.updated} of ${workers(total)} updated, ${counts.acknowledged} acknowledged`
    const message = `${progress}${heldText(facts)}`
    return isOverdue
      ? ready('ProgressDeadlineExceeded', `no progress within progressDeadlineSeconds: ${message}`)
      : ready('RollingOut', message)
  }
  if (counts.failed > 0)
    return {
      status: 'False',
      reason: 'Rejected',
      message: `the master refused the config of ${workers(counts.failed)}, see status.worst`,
    }
  if (counts.unavailable > maxUnavailable)
    return ready(
      'Unavailable',
      `${workers(counts.unavailable)} unavailable, at most ${maxUnavailable} may be, see status.worst`,
    )
  return ready('Complete', `${workers(counts.updated)} updated, ${counts.acknowledged} acknowledged`)
}

/** For people: whether there is anything to wait for. */
function progressingOf({ suspend }: SetFacts, { status, reason, message }: ConditionState): ConditionState {
  if (suspend) return { status: 'False', reason, message }
  if (STALLED.has(reason)) return { status: 'False', reason, message }
  return { status: status === 'Unknown' ? 'Unknown' : 'True', reason, message }
}

function driftedOf({ driftCount, isContested }: SetFacts): ConditionState | undefined {
  if (driftCount === 0) return undefined
  const differ = `the config of ${workers(driftCount)} differs at the master, see status.drift`
  return isContested
    ? {
        status: 'True',
        reason: 'ContestedField',
        message: `${differ}; another client changes it again and again, so it is reverted only every 5 minutes`,
      }
    : { status: 'True', reason: 'DriftDetected', message: differ }
}

function conflictedOf({ rollout }: SetFacts): ConditionState | undefined {
  if (rollout === undefined || rollout.counts.conflicted === 0) return undefined
  return {
    status: 'True',
    reason: 'OwnedByOthers',
    message: `${workers(rollout.counts.conflicted)} left to ${rollout.holders.join(', ')}`,
  }
}
