/**
 * @module operator/fleetworker/release
 * Releases a worker: before its resource is deleted, or because the resource must not manage it.
 *
 *   Retain       releases the claim alone, and delays nothing
 *   Reset        resets every field to its default, then releases the claim
 *   Deregister   the same, then deletes the record; a live process registers again, idle
 *
 * The finalizer is removed when that is done, or when there is nothing to do. If it cannot be done, an attempt that
 * fails 10 minutes or more after the deletion (by the API server's clock) removes it, and the annotation removes it
 * immediately. An unexpected error never removes it.
 * @see D44
 */
import type { JsonObject } from '../../protocol/index.ts'
import { type CatalogType, type Registered, isOfOperator } from '../fleet/index.ts'
import type { ReconcileOutcome } from '../kube/index.ts'
import { addressFaults } from './bounds.ts'
import { look } from './compare-config.ts'
import { type SecretState, givenBack, holdsSecret } from './desired.ts'
import { differenceOf, keptSecretFields } from './diff.ts'
import {
  FLEET_WORKERS,
  ABANDON_ANNOTATION,
  type FleetWorkerObject,
  eventTargetOf,
  hasFinalizer,
  patchFinalizers,
  readAgain,
  removeFinalizer,
  wantsFinalizer,
} from './resource.ts'
import { type ReconcileContext, type SyncResult, refusedResult, syncResult } from './context.ts'
import { otherOwnerOf } from './ownership.ts'
import { report } from './status.ts'

const PATIENCE_MS = 10 * 60_000

/** Handles a resource whose deletion was requested. */
export async function release(context: ReconcileContext): Promise<ReconcileOutcome> {
  const { deps, resource, signal } = context
  if (!hasFinalizer(resource)) return releaseClaimBestEffort(context)
  if (!deps.leadership.mayWrite() && !(await deps.leadership.confirm(signal))) return { kind: 'retry' }
  const { now, dateMs } = await readAgain(resource, deps.transport, signal)
  if (now === undefined) return { kind: 'ok' } // Deleted already; the watch will report it.
  const current = { ...context, resource: now }
  const waitedMs = msSinceDeletion(now, dateMs ?? deps.clock.wallMs())
  if (now.metadata.annotations?.[ABANDON_ANNOTATION] === 'true')
    return abandon(current, `the annotation ${ABANDON_ANNOTATION} is "true"`)
  const left = hasNothingToRestore(current) ? undefined : await restore(current)
  if (left === undefined) {
    await releaseClaimBestEffort(context)
    return letGo(current)
  }
  if (waitedMs >= PATIENCE_MS) return abandon(current, 'every attempt failed for 10 minutes')
  report(context, { ...left, isReleasing: true, isQuiet: false })
  return left.outcome.kind === 'retry' ? left.outcome : { kind: 'retry' }
}

/** @returns how long ago the deletion was requested, in milliseconds; NaN if it was not. */
const msSinceDeletion = ({ metadata }: FleetWorkerObject, nowMs: number): number =>
  nowMs - Date.parse(metadata.deletionTimestamp ?? '')

/** Whether the deletion leaves the worker's config and record as they are. */
function hasNothingToRestore({ deps, resource }: ReconcileContext): boolean {
  if (!wantsFinalizer(resource)) return true
  if (resource.spec.suspend === true) return true
  if (addressFaults(resource).length > 0) return true
  if (!deps.permits(resource)) return true
  return otherOwnerOf(resource, deps.cache, deps.permits) !== undefined
}

async function abandon(context: ReconcileContext, why: string): Promise<ReconcileOutcome> {
  const { deps, workerState, resource } = context
  deps.log.warn('deleting a FleetWorker without releasing its worker', {
    name: resource.metadata.name,
    namespace: resource.metadata.namespace,
    ...workerState.worker,
    why,
  })
  deps.events.record(
    eventTargetOf(resource),
    'Warning',
    'Abandoned',
    `deleted without releasing the worker ${workerState.worker.workerId}: ${why}; ` +
      'the worker keeps its config and its claim at the master; to remove the claim, DELETE …/workers/{id}/claim',
  )
  return letGo(context)
}

async function letGo({ deps, resource, signal }: ReconcileContext): Promise<ReconcileOutcome> {
  if (hasFinalizer(resource))
    await patchFinalizers(FLEET_WORKERS, resource, removeFinalizer(resource), deps.transport, signal)
  return { kind: 'ok' }
}

/** Best-effort: a claim that stays is recognised as orphaned, because its resource is deleted. */
async function releaseClaimBestEffort({ deps, workerState, signal }: ReconcileContext): Promise<ReconcileOutcome> {
  const seen = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  if (seen.kind === 'registered' && seen.record.managed_by === workerState.claim)
    await deps.master.release(workerState.worker, workerState.claim, signal)
  return { kind: 'ok' }
}

/** @returns why the reset is not complete; `undefined` if it is. */
async function restore(context: ReconcileContext): Promise<SyncResult | undefined> {
  const { deps, workerState, resource, signal } = context
  const seen = await look(context)
  if (seen.kind === 'result') return seen.worker === null ? undefined : seen // `null`: no such worker, or no such type.
  const type = deps.table.catalog(workerState.worker.type)
  if (type === undefined)
    return syncResult(
      'Updating',
      `waiting for the master to return the config schema of ${workerState.worker.type}`,
      { kind: 'retry' },
      { worker: seen },
    )
  const { managed_by: managedBy } = seen.record
  if (managedBy !== null && managedBy !== workerState.claim && isOfOperator(managedBy)) return undefined
  const patch = resetOf(context, seen, type)
  if (Object.keys(patch).length > 0) {
    const response = await deps.master.patch(
      workerState.worker,
      patch,
      { epoch: seen.epoch, configGen: seen.record.config_gen },
      workerState.claim,
      signal,
    )
    if (response.kind === 'not_registered' || response.kind === 'unknown_type') return undefined
    if (response.kind !== 'ok') return refusedResult(response, context, seen)
  }
  if (resource.spec.deletionPolicy !== 'Deregister') return undefined
  const result = await deps.master.forget(workerState.worker, workerState.claim, signal)
  return result.kind === 'ok' || result.kind === 'not_registered' || result.kind === 'unknown_type'
    ? undefined
    : refusedResult(result, context, seen)
}

/** Resets every field to its default, except ignored ones. A secret that is set is masked, which is not the default. */
function resetOf({ resource, recorded }: ReconcileContext, { record }: Registered, type: CatalogType): JsonObject {
  const set = Object.keys(record.config).filter((field) => holdsSecret(field, type))
  const acts = { due: new Set<string>(), forgotten: new Set([...set, ...recorded.sources.keys()]) }
  const observed = record.config as JsonObject
  const { patch } = differenceOf(
    { named: {}, versions: new Map() },
    observed,
    type,
    acts,
    resource.spec.ignoreDifferences ?? [],
  )
  const bound = keptSecretFields(observed, patch, type) // An ignored secret does not outlive its destinations (D88).
  return { ...patch, ...Object.fromEntries(bound.map((field) => [field, null])) }
}

/** The claim is released, or was never held. */
interface Released {
  readonly kind: 'released'
  /** What to record in the status from now on. */
  readonly secretState: SecretState
}

/** @returns the secret state after the release, or why the claim could not be released. */
export async function releaseClaim(context: ReconcileContext): Promise<Released | SyncResult> {
  const { deps, workerState, signal, recorded } = context
  const seen = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  if (seen.kind === 'registered' && seen.record.managed_by === workerState.claim) {
    const response = await deps.master.release(workerState.worker, workerState.claim, signal)
    if (response.kind !== 'ok' && response.kind !== 'not_registered') return refusedResult(response, context, seen)
  }
  return { kind: 'released', secretState: recorded.epoch === undefined ? recorded : givenBack(recorded) }
}
