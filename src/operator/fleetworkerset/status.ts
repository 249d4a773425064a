/**
 * @module operator/fleetworkerset/status
 * Reports the result of a reconcile: as a status, and as an Event when Ready changed. Its size does not depend on the
 * number of workers. While only counts change, a status is written at most once a second.
 */
import { kubeTime } from '../config/index.ts'
import { policyOf } from '../fleetworker/index.ts'
import { type ReconcileOutcome, refOf, sharing } from '../kube/index.ts'
import { setConditionsOf, type SetFacts } from './conditions.ts'
import type { SetContext, SetResult } from './context.ts'
import { setEventTarget } from './resource.ts'
import { MAX_FAILED_REVISIONS, MAX_FAILURE_MESSAGE_CHARS } from './rollout-schema.ts'
import {
  MAX_DRIFTED_WORKERS,
  MAX_SET_DRIFT_PATHS,
  MAX_WORKER_MESSAGE_CHARS,
  MAX_WORST_WORKERS,
  type FleetWorkerSetStatus,
} from './schema.ts'
import { fitText, withinStatusSize } from './status-size.ts'

/** How long the last facts stay in the status during an outage. */
const OUTAGE_MS = 60_000
const COUNTS_MS = 1_000

/** @returns the outcome of the reconcile, with the time of the next look. */
export function reportSet(context: SetContext, result: SetResult): ReconcileOutcome {
  const { deps, set, state, lastStatus } = context
  const isMasterUnavailable = deps.table.unavailableMs >= OUTAGE_MS
  if (result.isQuiet === true && result.rollout === undefined && !isMasterUnavailable) return result.outcome
  const status = sharing(withinStatusSize(statusOf(context, result, isMasterUnavailable)), lastStatus)
  const nowMs = deps.clock.monotonicMs()
  const waitMs = state.reportedMs + COUNTS_MS - nowMs
  if (waitMs > 0 && hasSameState(status, lastStatus)) return soonest(result.outcome, waitMs)
  if (status !== lastStatus) state.reportedMs = nowMs
  deps.status.put(refOf(set), status, 'transition')
  recordChange(context, status)
  return result.outcome
}

function statusOf(context: SetContext, result: SetResult, isMasterUnavailable: boolean): FleetWorkerSetStatus {
  const { deps, lastStatus, set } = context
  const nowMs = deps.table.masterNowMs()
  const facts: SetFacts = {
    generation: set.metadata.generation,
    policy: policyOf(set.spec),
    suspend: set.spec.suspend === true,
    isReleasing: result.isReleasing === true,
    synced: result.synced,
    rollout: result.rollout,
    scaleProblem: result.scale?.problem,
    driftCount: result.drift?.workers.length ?? 0,
    isContested: result.drift?.isContested === true,
    isMasterUnavailable,
    nowMs,
    before: lastStatus.conditions ?? [],
  }
  const conditions = setConditionsOf(facts)
  const isComplete = conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Complete')
  return {
    observedGeneration: set.metadata.generation,
    conditions: [...conditions],
    ...revisionsOf(context, result, isComplete),
    ...countsOf(context, result),
    ...rolloutOf(context, result),
    ...scaleOf(context, result),
    ...failedOf(context, result, { nowMs, isComplete }),
    ...worstOf(result),
    ...driftOf(result),
    ...sourcesOf(context, result),
  }
}

function revisionsOf(
  { lastStatus }: SetContext,
  { revision, stored }: SetResult,
  isComplete: boolean,
): FleetWorkerSetStatus {
  const known = stored === undefined ? lastStatus.currentRevision : stored.current
  const current = isComplete ? revision : known
  const update = revision ?? lastStatus.updateRevision
  return {
    ...(current !== undefined && { currentRevision: current }),
    ...(update !== undefined && { updateRevision: update }),
  }
}

function countsOf({ lastStatus }: SetContext, { rollout }: SetResult): FleetWorkerSetStatus {
  const counts = rollout?.counts ?? lastStatus.workers
  return counts === undefined ? {} : { workers: counts }
}

function scaleOf({ lastStatus, set }: SetContext, { scale }: SetResult): FleetWorkerSetStatus {
  const { replicas = set.spec.workload && lastStatus.replicas, selector = lastStatus.selector } = scale?.status ?? {}
  return { ...(replicas !== undefined && { replicas }), ...(selector !== undefined && { selector }) }
}

/** The gates are as they are now; everything else is as it was stored before workers were written. */
function rolloutOf(
  { lastStatus }: SetContext,
  { rollout: facts, stored }: SetResult,
): Pick<FleetWorkerSetStatus, 'rollout'> {
  const rollout = stored === undefined ? lastStatus.rollout : stored.rollout
  if (rollout === undefined) return {}
  const gates = facts?.gates ?? rollout.gates ?? []
  const { gates: _, ...others } = rollout
  return { rollout: { ...others, ...(gates.length > 0 && { gates: [...gates] }) } }
}

function sourcesOf({ lastStatus }: SetContext, result: SetResult): FleetWorkerSetStatus {
  const sources = result.sources ?? lastStatus.sources ?? []
  return sources.length === 0 ? {} : { sources: [...sources] }
}

/** The newest revisions that failed, or that the master refused. */
function failedOf(
  { lastStatus }: SetContext,
  { refused, revision: shown, stored, synced }: SetResult,
  { nowMs, isComplete }: { readonly nowMs: number; readonly isComplete: boolean },
): Pick<FleetWorkerSetStatus, 'failed'> {
  const known = stored?.failed ?? lastStatus.failed ?? []
  // Without stages, this is where a retry that succeeded ends.
  const before = isComplete ? known.filter((each) => each.revision !== shown) : known
  const isKnown = refused === undefined || before.some(({ revision }) => revision === refused)
  const message = fitText(synced.message, MAX_FAILURE_MESSAGE_CHARS)
  const failed = isKnown ? before : [...before, { revision: refused, time: kubeTime(nowMs), message }]
  return failed.length === 0 ? {} : { failed: failed.slice(-MAX_FAILED_REVISIONS) }
}

function worstOf({ worst = [] }: SetResult): Pick<FleetWorkerSetStatus, 'worst'> {
  if (worst.length === 0) return {}
  return {
    worst: worst.slice(0, MAX_WORST_WORKERS).map(({ worker, reason, message }) => ({
      worker,
      reason,
      message: fitText(message, MAX_WORKER_MESSAGE_CHARS),
    })),
  }
}

function driftOf({ drift }: SetResult): Pick<FleetWorkerSetStatus, 'drift'> {
  if (drift === undefined) return {}
  return {
    drift: {
      count: drift.workers.length,
      workers: drift.workers.slice(0, MAX_DRIFTED_WORKERS),
      paths: drift.paths.slice(0, MAX_SET_DRIFT_PATHS).map((path) => fitText(path, 256)),
    },
  }
}

/** Whether the conditions say the same, apart from their messages, which contain counts. */
function hasSameState(status: FleetWorkerSetStatus, before: FleetWorkerSetStatus): boolean {
  const stateOf = ({ conditions = [], updateRevision, observedGeneration }: FleetWorkerSetStatus): string =>
    JSON.stringify([
      updateRevision,
      observedGeneration,
      conditions.map(({ type, status: is, reason }) => [type, is, reason]),
    ])
  return stateOf(status) === stateOf(before)
}

function soonest(outcome: ReconcileOutcome, waitMs: number): ReconcileOutcome {
  if (outcome.kind !== 'ok') return outcome
  return { ...outcome, againAfterMs: Math.min(outcome.againAfterMs ?? waitMs, waitMs) }
}

/** Records an Event when Ready changes, unless the master is unreachable: one Event reports that for all. */
function recordChange({ deps, set, lastStatus }: SetContext, { conditions = [] }: FleetWorkerSetStatus): void {
  const before = lastStatus.conditions?.find(({ type }) => type === 'Ready')
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.reason === before?.reason || ready.status === 'Unknown') return
  const isProblem = conditions.some(({ type }) => type === 'Stalled') || ready.reason === 'Unavailable'
  deps.events.record(setEventTarget(set), isProblem ? 'Warning' : 'Normal', ready.reason, ready.message)
}
