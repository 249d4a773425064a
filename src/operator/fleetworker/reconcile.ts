/**
 * @module operator/fleetworker/reconcile
 * Brings the master in line with one FleetWorker, never the other way round. Level-based: the key says which object may
 * differ, never what happened, so both sides are read again. A reconcile is idempotent and may run at any time. Without
 * a difference it sends no PATCH and writes no status.
 *
 *   deleted ──▶ release claim   deletion requested ──▶ release.ts   not permitted ──▶ release claim, status.ts
 *   else ──▶ finalizer ──▶ converge.ts ──▶ status.ts
 *
 * A refusal of the API server or the master is an outcome. An exception is a programming error.
 */
import { KubeError, type ObjectKey, type ReconcileOutcome, isBehind, keyOf, refOf } from '../kube/index.ts'
import { boundFaults } from './bounds.ts'
import { converge } from './converge.ts'
import { release, releaseClaim } from './release.ts'
import {
  NO_DRIFT,
  type ReconcileContext,
  type ReconcileDeps,
  type Repeat,
  type SyncResult,
  syncResult,
  unreportedResult,
} from './context.ts'
import {
  FLEET_WORKERS,
  type FleetWorkerObject,
  addFinalizer,
  hasFinalizer,
  patchFinalizers,
  removeFinalizer,
  wantsFinalizer,
  whole,
} from './resource.ts'
import { report } from './status.ts'
import { memoryOf } from './desired.ts'

/** Attempts within one reconcile when an object changes concurrently. */
const ATTEMPTS = 3
const FORBIDDEN_MS = 5 * 60_000

export async function reconcile(key: ObjectKey, deps: ReconcileDeps, signal: AbortSignal): Promise<ReconcileOutcome> {
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const resource = deps.cache.get(key)
      if (resource === undefined) return await forget(key, deps, signal)
      const context = contextOf(resource, deps, signal)
      if (resource.metadata.deletionTimestamp !== undefined) {
        const outcome = await release(context)
        deps.memory.markReconciled(context.workerState)
        return outcome
      }
      const result = await resultOf(context)
      if (result.kind === 'repeat') continue
      if (result.isPending !== true) deps.memory.markReconciled(context.workerState)
      const outcome = report(context, result)
      if (result.isAhead !== true || !(await deps.status.flushNow(refOf(resource), signal))) return outcome
    }
    return { kind: 'retry' }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    if (error.status === 403) warnOfMissingRights(key, error, deps)
    return retryAfter(error)
  }
}

function retryAfter(error: KubeError): ReconcileOutcome {
  if (error.status === 403) return { kind: 'retry', afterMs: FORBIDDEN_MS }
  return error.retryAfterMs > 0 ? { kind: 'retry', afterMs: error.retryAfterMs } : { kind: 'retry' }
}

/**
 * Kubernetes deletes the operator's RoleBinding together with its namespace. After that no finalizer there can be
 * removed.
 */
function warnOfMissingRights(key: ObjectKey, error: KubeError, { logThrottle, log }: ReconcileDeps): void {
  const [namespace = '', name] = key.split('/')
  logThrottle.run(namespace, (suppressed) =>
    log.warn(
      'the operator lacks rights in the namespace of a FleetWorker; ' +
        'a deleted one keeps its finalizer until they are granted',
      { namespace, name, error, ...(suppressed > 0 && { suppressed }) },
    ),
  )
}

function contextOf(resource: FleetWorkerObject, deps: ReconcileDeps, signal: AbortSignal): ReconcileContext {
  const workerState = deps.memory.of(resource)
  const lastStatus = deps.status.last(refOf(resource)) ?? resource.status ?? {}
  const isEdit = isBehind(resource) || resource.metadata.deletionTimestamp !== undefined
  return {
    resource: whole(resource),
    deps: isEdit ? { ...deps, master: deps.edits } : deps,
    signal,
    workerState,
    lastStatus,
    recorded: memoryOf(lastStatus),
  }
}

async function resultOf(context: ReconcileContext): Promise<SyncResult | Repeat> {
  if (!context.deps.permits(context.resource)) return notPermitted(context)
  const faults = faultsOf(context)
  if (faults.length > 0)
    return syncResult('ConfigInvalid', faults.join('; '), { kind: 'terminal' }, { drift: NO_DRIFT })
  const resource = await matchFinalizer(context)
  return resource === undefined ? unreportedResult({ kind: 'retry' }) : converge({ ...context, resource })
}

/** The spec of a generation never changes, so it is validated once. */
function faultsOf({ resource, workerState }: ReconcileContext): readonly string[] {
  const { generation } = resource.metadata
  if (workerState.faults?.generation !== generation) workerState.faults = { generation, all: boundFaults(resource) }
  return workerState.faults.all
}

/** The resource may have been permitted before, so its claim is released. */
async function notPermitted(context: ReconcileContext): Promise<SyncResult> {
  const {
    workerState: {
      worker: { type, workerId },
    },
    resource: {
      metadata: { namespace },
    },
  } = context
  const back = await releaseClaim(context)
  if (back.kind === 'result') return { ...back, isHidden: true }
  const message =
    `FleetWorkers of the namespace ${namespace} may not manage the worker ${type}/${workerId}; ` +
    'an administrator can permit it in SVC_TENANTS (operator.tenants of the chart)'
  return syncResult(
    'NotPermitted',
    message,
    { kind: 'terminal' },
    { secretState: back.secretState, drift: NO_DRIFT, isHidden: true },
  )
}

/**
 * Runs before the first write to the master, or a deletion could leave a config behind. @returns `undefined` if another
 * replica leads.
 */
async function matchFinalizer({ resource, deps, signal }: ReconcileContext): Promise<FleetWorkerObject | undefined> {
  const [has, wants] = [hasFinalizer(resource), wantsFinalizer(resource)]
  if (has === wants) return resource
  if (!deps.leadership.mayWrite() && !(await deps.leadership.confirm(signal))) return undefined
  const patched = await patchFinalizers(
    FLEET_WORKERS,
    resource,
    wants ? addFinalizer(resource) : removeFinalizer(resource),
    deps.transport,
    signal,
  )
  deps.cache.applyResponse(patched)
  return whole(deps.cache.get(keyOf(resource.metadata)) ?? patched)
}

/**
 * Releases the claim of a deleted resource. The resync releases those that are missed here, above all after a restart.
 */
async function forget(
  key: ObjectKey,
  { master, memory, table }: ReconcileDeps,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  const workerState = memory.forget(key)
  if (workerState === undefined) return { kind: 'ok' }
  const { type, workerId } = workerState.worker
  const seen = table.get(type, workerId)
  if (seen.kind === 'registered' && seen.record.managed_by === workerState.claim)
    await master.release(workerState.worker, workerState.claim, signal)
  return { kind: 'ok' }
}
