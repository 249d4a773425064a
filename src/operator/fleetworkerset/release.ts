/**
 * @module operator/fleetworkerset/release
 * Handles a set whose deletion was requested. With `Retain` there is no finalizer, and the workers keep their configs;
 * the periodic resync releases their claims. With `Reset` and `Deregister` the workers get the empty config by bulk
 * calls, so that each field is at its default, and lose the claim with it.
 *
 *   no finalizer ──▶ nothing     annotation `abandon`, or 10 minutes without success ──▶ finalizer removed, Event
 *   else ──▶ reset the members ──▶ Deregister: delete their records ──▶ finalizer removed
 */
import { KubeError, type ReconcileOutcome, objectPath, refOf } from '../kube/index.ts'
import { ABANDON_ANNOTATION, hasFinalizer, patchFinalizers, removeFinalizer } from '../fleetworker/index.ts'
import { MAX_ITEMS } from './bulk.ts'
import { quietResult, refusedSet, setResult, type SetContext, type SetResult } from './context.ts'
import { removeRule } from './enrolment.ts'
import { resetRevisionOf } from './revision.ts'
import { FLEET_WORKER_SETS, setEventTarget, type FleetWorkerSetObject } from './resource.ts'
import { reportSet } from './status.ts'

const PATIENCE_MS = 10 * 60_000
const PLAIN = '-'

export async function releaseSet(context: SetContext): Promise<ReconcileOutcome> {
  const { deps, set, signal } = context
  if (!hasFinalizer(set)) return { kind: 'ok' }
  if (!deps.leadership.mayWrite() && !(await deps.leadership.confirm(signal))) return { kind: 'retry' }
  const now = await readAgain(context)
  if (now === undefined) return { kind: 'ok' } // Deleted already; the watch will report it.
  const current = { ...context, set: now.set }
  await removeRule(current)
  if (now.set.metadata.annotations?.[ABANDON_ANNOTATION] === 'true')
    return abandon(current, `the annotation ${ABANDON_ANNOTATION} is "true"`)
  const left = hasNothingToRestore(current) ? undefined : await restore(current)
  if (left === undefined) return letGo(current)
  if (now.dateMs - Date.parse(set.metadata.deletionTimestamp ?? '') >= PATIENCE_MS)
    return abandon(current, 'every attempt failed for 10 minutes')
  reportSet(current, { ...left, isReleasing: true, isQuiet: false })
  return left.outcome.kind === 'retry' ? left.outcome : { kind: 'retry' }
}

/** Reads the set and the clock from the API server. @returns `undefined` if no object has this uid. */
async function readAgain({ deps, set, signal }: SetContext) {
  try {
    const { body, dateMs } = await deps.transport.json<FleetWorkerSetObject>(
      { method: 'GET', path: objectPath(FLEET_WORKER_SETS, refOf(set)) },
      signal,
    )
    return body.metadata.uid === set.metadata.uid ? { set: body, dateMs: dateMs ?? deps.clock.wallMs() } : undefined
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined
    throw error
  }
}

/** Whether the deletion leaves the workers as they are. */
function hasNothingToRestore({ deps, set }: SetContext): boolean {
  const { deletionPolicy, managementPolicy, suspend, type } = set.spec
  if (deletionPolicy !== 'Reset' && deletionPolicy !== 'Deregister') return true
  if (managementPolicy === 'Observe' || suspend === true) return true
  const reach = deps.table.reach(type)
  return reach === 'unknown_type' || deps.scope(set.metadata.namespace, type) === undefined
}

/** Resets the workers that the set has a claim on. @returns why that is not complete; `undefined` if it is. */
async function restore(context: SetContext): Promise<SetResult | undefined> {
  const { claim, deps, set, signal } = context
  const { deletionPolicy, ignoreDifferences = [], type } = set.spec
  const owned = [...deps.table.rows(type)].filter(({ record }) => record.managed_by === claim)
  if (deps.table.reach(type) !== 'in_reach') return quietResult({ kind: 'retry' })
  if (owned.length === 0) return undefined
  const revision = resetRevisionOf(set)
  const stored = await deps.revisions.put(type, revision, { config: {}, managed_by: claim }, claim, signal)
  if (stored.kind !== 'ok') return refusedSet(stored, context)
  for (let first = 0; first < owned.length; first += MAX_ITEMS) {
    const rows = owned.slice(first, first + MAX_ITEMS)
    const response = await deps.revisions.apply(
      type,
      {
        revision,
        managedBy: claim,
        keep: ignoreDifferences,
        isDryRun: false,
        items: rows.map(({ record, epoch }) => ({
          workerId: record.worker_id,
          epoch,
          configGen: record.config_gen,
          managedBy: claim,
          patch: {},
          variant: PLAIN,
        })),
      },
      signal,
    )
    if (response.kind !== 'ok') return refusedSet(response, context)
    const failed = response.value.find((each) => 'error' in each && each.error.status !== 404)
    if (failed !== undefined)
      return setResult('Updating', `the worker ${failed.worker_id} could not be reset yet`, { kind: 'retry' })
  }
  for (const { record } of owned) {
    const worker = { type, workerId: record.worker_id }
    const response =
      deletionPolicy === 'Deregister'
        ? await deps.master.forget(worker, claim, signal)
        : await deps.master.release(worker, claim, signal)
    if (response.kind !== 'ok' && response.kind !== 'not_registered') return refusedSet(response, context)
  }
  return undefined
}

async function abandon(context: SetContext, why: string): Promise<ReconcileOutcome> {
  const { deps, set } = context
  const { name, namespace } = set.metadata
  deps.log.warn('deleting a FleetWorkerSet without releasing its workers', { name, namespace, why })
  deps.events.record(
    setEventTarget(set),
    'Warning',
    'Abandoned',
    `deleted without releasing its workers: ${why}; they keep their configs`,
  )
  return letGo(context)
}

async function letGo({ deps, set, signal }: SetContext): Promise<ReconcileOutcome> {
  await patchFinalizers(FLEET_WORKER_SETS, set, removeFinalizer(set), deps.transport, signal)
  return { kind: 'ok' }
}
