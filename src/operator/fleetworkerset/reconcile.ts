/**
 * @module operator/fleetworkerset/reconcile
 * Brings the workers of one set in line with it. The operator creates no object per worker and remembers none: the
 * master stores a label beside each config, and a worker needs a write if its label is another one than it should be.
 * So a reconcile compares names, is idempotent and may run at any time. Without a difference it sends nothing.
 *
 *   deleted ──▶ release.ts      not permitted, invalid, suspended ──▶ status.ts
 *   else ──▶ sources ──▶ revision ──▶ members ──▶ plan ──┬─▶ status.ts
 *                                        ▲               └─▶ revision stored, and in the history? ──▶ bulk writes
 *                                        └──────────────────────────────────────────────────────────────┘
 *
 * A refusal of the API server or the master is an outcome. An exception is a programming error.
 */
import { KubeError, type ObjectKey, type ReconcileOutcome, keyOf, refOf } from '../kube/index.ts'
import { addFinalizer, hasFinalizer, patchFinalizers, removeFinalizer, wantsFinalizer } from '../fleetworker/index.ts'
import { setFaults } from './bounds.ts'
import type { SetSyncedReason } from './conditions.ts'
import { removeRule } from './enrolment.ts'
import { quietResult, setResult, type SetContext, type SetDeps, type SetResult } from './context.ts'
import { readConfig } from './config.ts'
import { converge } from './converge.ts'
import { recordRevision } from './history.ts'
import { releaseSet } from './release.ts'
import { claimForSet, FLEET_WORKER_SETS, SET_OBJECT, type FleetWorkerSetObject } from './resource.ts'
import { reportSet } from './status.ts'
import { offerOf } from './report-offer.ts'
import { workers } from './stage-condition.ts'
import type { ReportKey } from './rollout-reports.ts'
import type { SetState } from './memory.ts'

/** The set cannot be applied, so it enrols no worker. */
const NEEDS_USER: ReadonlySet<SetSyncedReason> = new Set<SetSyncedReason>(['NotPermitted', 'ConfigInvalid'])
/** The master has accepted the revision, unless nothing was learnt. */
const IN_USE: ReadonlySet<SetSyncedReason> = new Set<SetSyncedReason>(['InSync', 'DriftTolerated'])
const FORBIDDEN_MS = 5 * 60_000

export async function reconcileSet(key: ObjectKey, deps: SetDeps, signal: AbortSignal): Promise<ReconcileOutcome> {
  try {
    const set = deps.cache.get(key)
    if (set === undefined) {
      const state = deps.memory.forget(key)
      if (state === undefined) return { kind: 'ok' }
      deps.reports.offer(reportKeyOf(state), { kind: 'deleted' })
      recordMixed(key, state, deps)
      await removeRule({ deps, signal, state })
      return { kind: 'ok' }
    }
    const context: SetContext = {
      set,
      claim: claimForSet(set),
      deps,
      signal,
      state: deps.memory.of(set),
      lastStatus: deps.status.last(refOf(set)) ?? set.status ?? {},
    }
    if (set.metadata.deletionTimestamp !== undefined) return await releaseSet(context)
    const result = await resultOf(context)
    if (result.rollout !== undefined) context.state.mixed = wantsFinalizer(set) ? undefined : mixedOf(result)
    const offer = offerOf(context, result)
    if (offer !== undefined) deps.reports.offer(reportKeyOf(context.state), offer)
    if (NEEDS_USER.has(result.synced.reason)) await removeRule(context)
    return reportSet(context, result)
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    if (error.status !== 403)
      return error.retryAfterMs > 0 ? { kind: 'retry', afterMs: error.retryAfterMs } : { kind: 'retry' }
    deps.log.warn('the operator lacks rights in the namespace of a FleetWorkerSet', { key, error })
    return { kind: 'retry', afterMs: FORBIDDEN_MS }
  }
}

const reportKeyOf = ({ claim, ruleName: name, type }: SetState): ReportKey => ({ type, name, claim })

/** @returns which configs the workers have; `undefined` if they have one, or return to it. */
function mixedOf({ rollout, stored }: SetResult): string | undefined {
  const { updated = 0, pending = 0 } = rollout?.counts ?? {}
  if (stored?.rollout === undefined || updated === 0 || pending === 0) return undefined
  const { revision } = stored.rollout
  return `${updated} of ${workers(updated + pending)} ${updated === 1 ? 'has' : 'have'} the config ${revision}`
}

/** Without a finalizer, a deletion leaves the workers as they are. */
function recordMixed(key: ObjectKey, { mixed, uid }: SetState, { events }: SetDeps): void {
  if (mixed === undefined) return
  const [namespace = '', name = ''] = key.split('/')
  const message = `deleted during a rollout: ${mixed}, and all keep their configs`
  events.record({ ...SET_OBJECT, namespace, name, uid }, 'Warning', 'DeletedDuringRollout', message)
}

async function resultOf(context: SetContext): Promise<SetResult> {
  const { set, deps } = context
  const { namespace } = set.metadata
  const { type } = set.spec
  const permitted = deps.scope(namespace, type)
  if (permitted === undefined)
    return setResult(
      'NotPermitted',
      `FleetWorkerSets of the namespace ${namespace} may not manage workers of the type ${type}; ` +
        'an administrator can permit it in SVC_TENANTS (operator.tenants of the chart)',
      { kind: 'terminal' },
    )
  const faults = setFaults(set)
  if (faults.length > 0) return setResult('ConfigInvalid', faults.join('; '), { kind: 'terminal' })
  const current = await matchFinalizer(context)
  if (current === undefined) return quietResult({ kind: 'retry' })
  const reach = deps.table.reach(type)
  if (reach === 'unknown_type')
    return setResult('UnknownType', `the master has no automation of the type ${type}`, { kind: 'terminal' })
  if (reach === 'forbidden')
    return setResult('Forbidden', `the operator's token is not valid for the type ${type}`, { kind: 'ok' })
  const catalog = deps.table.catalog(type)
  if (reach === 'pending' || catalog === undefined) return quietResult({ kind: 'ok' })
  const config = await readConfig({ ...context, set: current }, catalog)
  if (config.kind === 'fault') return config.result
  const result = await converge({ ...context, set: current }, config, permitted)
  // Usually done when the revision was stored: but the history may have failed then, or be younger than the revision.
  if (IN_USE.has(result.synced.reason)) await recordRevision({ ...context, set: current }, config)
  return result
}

/** Runs before the first write to the master. @returns `undefined` if another replica leads. */
async function matchFinalizer({ set, deps, signal }: SetContext): Promise<FleetWorkerSetObject | undefined> {
  const [has, wants] = [hasFinalizer(set), wantsFinalizer(set)]
  if (has === wants) return set
  if (!deps.leadership.mayWrite() && !(await deps.leadership.confirm(signal))) return undefined
  const operations = wants ? addFinalizer(set) : removeFinalizer(set)
  const patched = await patchFinalizers(FLEET_WORKER_SETS, set, operations, deps.transport, signal)
  deps.cache.applyResponse(patched)
  return deps.cache.get(keyOf(set.metadata)) ?? patched
}
