/**
 * @module operator/fleetworker/converge
 * Brings the worker's config in line with one live resource:
 *
 *  owner? ──▶ record ──▶ may take the claim? ──▶ compare ──▶ equal, or to be left ────────────────────┐
 *                                                  └─▶ read the resource again ──▶ claim ──▶ remember │
 *                                                        new secret fields ──▶ PATCH with If-Match ───┴─▶ drain, result
 *
 * Both sides may have changed between the decision and the write. So the resource is read again before the write, and
 * the master rejects a PATCH against another generation. In either case the reconcile starts again. The resource is
 * read from the cache if that is fresh, which a write of this term has shown in the last seconds, else from the API
 * server. So a cache that is behind never restores an older spec.
 * @see D15, D31, D43
 */
import type { JsonObject } from '../../protocol/index.ts'
import { type CatalogType, type ClaimClass, type Registered, classifyClaim } from '../fleet/index.ts'
import { KubeError, PRIORITY, isBehind, keyOf } from '../kube/index.ts'
import { type Parked, RevertThrottle, rejectedDigest } from './memory.ts'
import { type SecretState, holdsSecret, secretsSet, takenOver, writeAhead } from './desired.ts'
import {
  NO_DRIFT,
  PARKED_MS,
  REPEAT,
  type ReconcileContext,
  type Repeat,
  type SyncResult,
  refusedResult,
  syncResult,
  pendingResult,
  unreportedResult,
  updatingResult,
} from './context.ts'
import { releaseClaim } from './release.ts'
import {
  type ConfigComparison,
  compareConfig,
  look,
  hasMoved,
  isHandsOff,
  mayWriteConfig,
  saysInForce,
} from './compare-config.ts'
import { conflictMessage, otherOwnerOf } from './ownership.ts'
import { type FleetWorkerObject, eventTargetOf, readAgain } from './resource.ts'
import { wantsDrain } from './schema.ts'

/** Immediately, but after all keys of the same priority that are due already: those of the first round. */
const SECOND_LOOK_MS = 1
/** Reasons that report a refusal of the master. */
const REFUSALS = ['Rejected', 'ConfigInvalid'] as const

export async function converge(context: ReconcileContext): Promise<SyncResult | Repeat> {
  const { deps, workerState, resource } = context
  const other = otherOwnerOf(resource, deps.cache, deps.permits)
  if (other !== undefined) {
    const back = await releaseClaim(context)
    if (back.kind === 'result') return back
    return syncResult(
      'OwnershipConflict',
      conflictMessage(resource, other),
      { kind: 'terminal' },
      { secretState: back.secretState, drift: NO_DRIFT },
    )
  }
  const seen = await look(context)
  if (seen.kind === 'result') return seen
  workerState.missing = undefined
  const type = deps.table.catalog(resource.spec.type)
  if (type === undefined) return pendingResult(seen)
  if (isHandsOff(resource.spec)) return observe(context, seen, type)
  const claimClass = claimClassOf(context, seen)
  if (claimClass === 'taken_over' || claimClass === 'foreign') return claimedByOthers(seen)
  const owned = withSecretsOfOthers(context, seen, type)
  const comparison = await compareConfig(owned, seen, type)
  const result = comparison.kind === 'result' ? comparison : await act(owned, seen, comparison, claimClass)
  return result.kind === 'repeat' ? result : drained(context, result)
}

/**
 * Before this resource owns the worker, secret fields that are set were set by other clients. They count as sent by it.
 * So the PATCH that brings its own targets also resets those which it does not name (D64).
 */
function withSecretsOfOthers(
  context: ReconcileContext,
  { epoch, record }: Registered,
  type: CatalogType,
): ReconcileContext {
  const { workerState, recorded } = context
  const isOwn = recorded.epoch === epoch && record.managed_by === workerState.claim
  return isOwn ? context : { ...context, recorded: takenOver(recorded, secretsSet(record.config as JsonObject, type)) }
}

function claimClassOf(
  { deps, workerState, recorded: { epoch, generation = 0 } }: ReconcileContext,
  seen: Registered,
): ClaimClass {
  return classifyClaim({
    managedBy: seen.record.managed_by,
    own: workerState.claim,
    isLive: deps.isLiveClaim,
    watches: deps.watches,
    wasDeletedHere: (claim) => deps.deletedClaims.has(claim),
    // A restored store shows claims from before.
    hasHeldBefore: epoch !== undefined && !deps.table.hasForgotten(seen, { epoch, generation }),
  })
}

function claimedByOthers(worker: Registered): SyncResult {
  const { record } = worker
  const message =
    `the config of this worker is managed by ${record.managed_by}; ` +
    'delete that object, or release its claim with ' +
    `DELETE /api/v1/automations/${record.automation_type}/workers/${record.worker_id}/claim`
  return syncResult('OwnershipConflict', message, { kind: 'terminal' }, { worker, drift: NO_DRIFT })
}

/** For a resource that is suspended or only observed: reports the difference. */
async function observe(context: ReconcileContext, seen: Registered, type: CatalogType): Promise<SyncResult> {
  const back = await releaseClaim(context)
  if (back.kind === 'result') return back
  const { secretState } = back
  const comparison = await compareConfig(
    withSecretsOfOthers({ ...context, recorded: secretState }, seen, type),
    seen,
    type,
  )
  if (comparison.kind === 'result') return { ...comparison, secretState }
  return tolerated(context, seen, comparison, { ...secretState, generation: seen.record.config_gen })
}

function tolerated(
  { lastStatus, deps }: ReconcileContext,
  worker: Registered,
  { difference: { paths } }: ConfigComparison,
  secretState: SecretState,
): SyncResult {
  if (paths.length === 0)
    return syncResult(
      'InSync',
      'the config at the master matches this FleetWorker',
      { kind: 'ok' },
      { worker, secretState, drift: NO_DRIFT },
    )
  if (lastStatus.drift === undefined) deps.onDrift('tolerated')
  const by = worker.record.config_changed_by
  return syncResult(
    'DriftTolerated',
    `the config at the master differs from this FleetWorker${by === null ? '' : `, last changed by ${by}`}; ` +
      'managementPolicy Warn does not revert it, and status.drift lists the fields',
    { kind: 'ok' },
    { worker, secretState, drift: { paths, by } },
  )
}

async function act(
  context: ReconcileContext,
  seen: Registered,
  comparison: ConfigComparison,
  claimClass: ClaimClass,
): Promise<SyncResult | Repeat> {
  const { workerState, recorded, resource, lastStatus, deps } = context
  const isEqual = Object.keys(comparison.difference.patch).length === 0
  const isForgotten = hasForgotten(context, seen)
  const mayWrite = mayWriteConfig({
    spec: resource.spec,
    wasInForce: saysInForce(lastStatus, resource.metadata.generation),
    hasMoved: hasMoved(comparison.desired, recorded),
    isForgotten,
  })
  const blocked = isEqual || !mayWrite ? undefined : obstacle(context, seen, comparison, isForgotten)
  const writes = !isEqual && mayWrite && blocked === undefined
  if (writes || claimClass !== 'ours') {
    if (deps.memory.isFirstLook(workerState))
      return unreportedResult(
        {
          kind: 'ok',
          againAfterMs: SECOND_LOOK_MS,
          priority: isBehind(resource) ? PRIORITY.edit : PRIORITY.resync,
        },
        seen,
      )
    const current = await isCurrent(context)
    if (current.kind !== 'current') return current
  }
  if (claimClass !== 'ours') {
    const response = await deps.master.claim(workerState.worker, workerState.claim, context.signal)
    if (response.kind !== 'ok') return refusedResult(response, context, seen)
  }
  if (blocked !== undefined) return blocked
  if (isEqual) return inForce(context, seen, comparison)
  return writes
    ? write(context, seen, comparison, isForgotten)
    : tolerated(context, seen, comparison, toleratedMemory(context, seen, comparison))
}

/** A secret that differs stays so until it is sent, so the generation that reported it is not recorded as compared. */
function toleratedMemory(
  { recorded }: ReconcileContext,
  { epoch, record }: Registered,
  { acts: { due, forgotten } }: ConfigComparison,
): SecretState {
  return {
    ...recorded,
    epoch: recorded.epoch ?? epoch,
    ...(due.size + forgotten.size === 0 && { generation: record.config_gen }),
  }
}

function hasForgotten({ deps, recorded: { epoch, generation = 0 } }: ReconcileContext, seen: Registered): boolean {
  return (
    epoch !== undefined && (deps.table.hasForgotten(seen, { epoch, generation }) || seen.record.managed_by === null)
  )
}

/** @returns a result if the same refusal would repeat, or the revert throttle applies. */
function obstacle(
  context: ReconcileContext,
  worker: Registered,
  { inputs, difference: { paths } }: ConfigComparison,
  isForgotten: boolean,
): SyncResult | undefined {
  const { deps, workerState } = context
  const nowMs = deps.clock.monotonicMs()
  const parked = (workerState.parked ??= parkedBefore(context, inputs, nowMs))
  if (parked?.inputs === inputs && nowMs < parked.untilMs)
    return syncResult(parked.reason, parked.message, { kind: 'terminal' }, { worker, drift: NO_DRIFT })
  const contested =
    isForgotten || workerState.inForce !== inputs ? undefined : workerState.revertThrottle?.throttledAt(nowMs)
  if (contested === undefined || nowMs >= contested.nextMs) return undefined
  const by = worker.record.config_changed_by
  return syncResult(
    'ContestedField',
    contestMessage(contested.path, by),
    { kind: 'ok', againAfterMs: contested.nextMs - nowMs },
    { worker, drift: { paths, by } },
  )
}

/** A refusal of an earlier term of leadership or an earlier process, from the status. */
function parkedBefore({ lastStatus, resource }: ReconcileContext, inputs: string, nowMs: number): Parked | undefined {
  if (lastStatus.config?.rejected !== rejectedDigest(inputs)) return undefined
  const synced = lastStatus.conditions?.find(({ type }) => type === 'Synced')
  const isOfThis = synced?.observedGeneration === resource.metadata.generation
  const reason = REFUSALS.find((each) => each === synced?.reason)
  return isOfThis && reason !== undefined
    ? { inputs, reason, message: synced?.message ?? '', untilMs: nowMs + PARKED_MS }
    : undefined
}

const contestMessage = (path: string, by: string | null): string =>
  `${by ?? 'another client'} repeatedly changes ${path}, so it is reverted only every 5 minutes; ` +
  'stop that client, or add the path to spec.ignoreDifferences'

function inForce(
  { deps, workerState }: ReconcileContext,
  worker: Registered,
  { inputs, desired: { versions } }: ConfigComparison,
): SyncResult {
  const nowMs = deps.clock.monotonicMs()
  workerState.inForce = inputs
  workerState.parked = undefined
  const more: Omit<SyncResult, 'kind' | 'synced' | 'outcome'> = {
    worker,
    secretState: { epoch: worker.epoch, generation: worker.record.config_gen, sources: versions },
    drift: NO_DRIFT,
  }
  const contested = workerState.revertThrottle?.throttledAt(nowMs)
  if (contested !== undefined)
    return syncResult(
      'ContestedField',
      contestMessage(contested.path, contested.by),
      { kind: 'ok', againAfterMs: contested.quietMs - nowMs },
      more,
    )
  return syncResult(
    'InSync',
    `the config at the master matches this FleetWorker (generation ${worker.record.config_gen})`,
    { kind: 'ok' },
    more,
  )
}

/** The resource at the API server is still the one that was compared. */
interface Current {
  readonly kind: 'current'
}

/**
 * Whether the resource is still the one that the decision was based on: in the cache if that is fresh, else at the API
 * server.
 */
async function isCurrent(context: ReconcileContext): Promise<Current | SyncResult | Repeat> {
  const { deps, resource, signal } = context
  const { cache, leadership, transport } = deps
  if (!leadership.mayWrite() && !(await leadership.confirm(signal))) return unreportedResult({ kind: 'retry' })
  if (deps.isFresh(resource.metadata.namespace)) {
    const cached = cache.get(keyOf(resource.metadata))
    return cached !== undefined && isUnchanged(resource, cached) ? { kind: 'current' } : REPEAT
  }
  const { now } = await readAgain(resource, transport, signal)
  if (now === undefined) return unreportedResult({ kind: 'retry' }) // The watch will report the deletion.
  if (isUnchanged(resource, now)) return { kind: 'current' }
  cache.applyResponse(now)
  return REPEAT
}

const isUnchanged = ({ metadata: before }: FleetWorkerObject, { metadata: now }: FleetWorkerObject): boolean =>
  now.uid === before.uid && now.generation === before.generation && now.deletionTimestamp === before.deletionTimestamp

async function write(
  context: ReconcileContext,
  seen: Registered,
  comparison: ConfigComparison,
  isForgotten: boolean,
): Promise<SyncResult | Repeat> {
  const { deps, workerState, signal, recorded } = context
  const held: SecretState = { ...recorded, epoch: recorded.epoch ?? seen.epoch }
  if (isFirstSent(context, comparison))
    return {
      ...updatingResult({ kind: 'retry' }, seen, {
        ...held,
        sources: writeAhead(held.sources, comparison.desired, comparison.difference.patch),
      }),
      isAhead: true,
    }
  const { patch } = comparison.difference
  const response = await deps.master.patch(
    workerState.worker,
    patch,
    { epoch: seen.epoch, configGen: seen.record.config_gen },
    workerState.claim,
    signal,
  )
  if (response.kind === 'stale') {
    workerState.isUnsure = true
    return (await deps.leadership.confirm(signal)) ? REPEAT : unreportedResult({ kind: 'retry' }, seen)
  }
  if (response.kind !== 'ok') return { secretState: held, ...refusedResult(response, context, seen, comparison.inputs) }
  noteWritten(context, seen, comparison, isForgotten)
  return inForce(context, written(context, seen, response.value.config_gen), comparison)
}

/** Whether a secret is sent that the status does not name yet. The status must name it before it is sent. */
function isFirstSent({ resource }: ReconcileContext, { acts, difference: { patch }, type }: ConfigComparison): boolean {
  const named = new Set(resource.status?.config?.sources?.map(({ field }) => field))
  return [...acts.due].some((field) => Object.hasOwn(patch, field) && holdsSecret(field, type) && !named.has(field))
}

function noteWritten(
  { deps, workerState, resource }: ReconcileContext,
  { record }: Registered,
  { type, desired: { named }, difference: { patch, paths }, inputs }: ConfigComparison,
  isForgotten: boolean,
): void {
  workerState.patchedMs = deps.table.masterNowMs()
  const secret = Object.entries(patch).filter(([field]) => holdsSecret(field, type))
  for (const [field, value] of secret) (workerState.digests ??= new Map()).set(field, deps.memory.digest(value))
  const inline = secret
    .filter(([field]) => Object.hasOwn(resource.spec.config ?? {}, field) && Object.hasOwn(named, field))
    .map(([field]) => field)
  if (inline.length > 0)
    deps.events.record(
      eventTargetOf(resource),
      'Warning',
      'SecretInSpec',
      `spec.config contains a secret in plain text: ${inline.join(', ')}; ` +
        'move it to a Secret and reference it in spec.configFrom',
    )
  if (workerState.inForce !== inputs || isForgotten) return
  const nowMs = deps.clock.monotonicMs()
  const throttle = (workerState.revertThrottle ??= new RevertThrottle())
  const wasContested = throttle.throttledAt(nowMs) !== undefined
  throttle.onRevert(paths, record.config_changed_by, nowMs)
  deps.onDrift(!wasContested && throttle.throttledAt(nowMs) !== undefined ? 'contested' : 'reverted')
}

/** The worker after the operator's own PATCH, whether or not the table shows it already. */
function written({ deps, workerState }: ReconcileContext, seen: Registered, configGen: number): Registered {
  const now = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  const { record, ...rest } = now.kind === 'registered' ? now : seen
  return { ...rest, record: { ...record, config_gen: configGen } }
}

/** Requests a connected process to end, each time one connects (D6). */
async function drained(context: ReconcileContext, result: SyncResult): Promise<SyncResult> {
  const { deps, workerState, resource, signal } = context
  const { worker } = result
  if (!wantsDrain(resource.spec) || worker?.record.connected !== true || worker.record.draining) return result
  const late: SyncResult = { ...result, outcome: { kind: 'retry' } }
  try {
    if ((await isCurrent(context)).kind !== 'current') return late
  } catch (error) {
    if (error instanceof KubeError) return late // What was written before must still be reported.
    throw error
  }
  const response = await deps.master.drain(workerState.worker, workerState.claim, signal)
  if (response.kind !== 'ok') return late
  const now = await deps.master.get(workerState.worker, signal)
  return now.kind === 'ok' ? { ...result, worker: now.value } : late
}
