/**
 * @module operator/fleetworker/compare-config
 * Compares a resource with the worker's record. It reads what the comparison needs (sources, the config's history) and
 * writes nothing. A secret is read only when it has to be sent.
 */
import { pointerStep, type JsonObject } from '../../protocol/index.ts'
import type { CatalogType, Registered } from '../fleet/index.ts'
import { interned } from '../interned.ts'
import { desiredOf, holdsSecret, isSecretField, type Desired } from './desired.ts'
import { boundDifferenceOf, type Difference } from './diff.ts'
import { syncResult, NO_DRIFT, refusedResult, type SyncResult, type ReconcileContext } from './sync-result.ts'
import { RECONCILE_ANNOTATION } from './resource.ts'
import { isUnsent, secretActs, type SecretActs, type SecretState } from './secrets.ts'

const HISTORY_LIMIT = 50
const SOURCE_MS = 5 * 60_000

export interface ConfigComparison {
  readonly kind: 'comparison'
  readonly type: CatalogType
  readonly desired: Desired
  readonly acts: SecretActs
  readonly difference: Difference
  /** Identifies every input of the resource on which the result depends, without values. */
  readonly inputs: string
}

export async function compareConfig(
  context: ReconcileContext,
  seen: Registered,
  type: CatalogType,
): Promise<ConfigComparison | SyncResult> {
  const { deps, resource, signal, recorded } = context
  const changedSince = await changesSince(context, seen, type)
  if (changedSince.kind === 'result') return changedSince
  let wants = (field: string, version: string): boolean =>
    !isSecretField(field, type) || recorded.sources.get(field) !== version
  for (;;) {
    const read = await deps.sources.read(resource, wants, signal)
    if ('reason' in read)
      return read.reason === 'ConfigInvalid'
        ? invalid(read.message, seen)
        : syncResult(read.reason, read.message, { kind: 'ok', againAfterMs: SOURCE_MS }, { worker: seen })
    const desired = desiredOf(resource, read.sources, type)
    if ('reason' in desired)
      return syncResult(desired.reason, desired.message, { kind: 'terminal' }, { worker: seen, drift: NO_DRIFT })
    const own = secretActs(desired, recognised(context, desired, type, read.unread), {
      epoch: seen.epoch,
      configGen: seen.record.config_gen,
      changedSince: changedSince.fields,
    })
    const { acts, difference } = boundDifferenceOf(
      desired,
      seen.record.config as JsonObject,
      type,
      own,
      ignoredBy(context, type),
    )
    if (![...acts.due].some((field) => read.unread.has(field))) {
      return { kind: 'comparison', type, desired, acts, difference, inputs: inputsOf(context, desired, type) }
    }
    wants = () => true
  }
}

/**
 * Ignored pointers without those into secrets of other owners. Otherwise a secret that stays would be sent to the
 * targets that this resource sets (D64).
 */
function ignoredBy({ resource, recorded }: ReconcileContext, type: CatalogType): readonly string[] {
  const others = type.secrets.flatMap(([field]) =>
    field !== undefined && isUnsent(field, recorded) ? [pointerStep(field)] : [],
  )
  return (resource.spec.ignoreDifferences ?? []).filter(
    (pointer) => !others.some((at) => pointer === at || pointer.startsWith(`${at}/`)),
  )
}

const invalid = (message: string, worker: Registered): SyncResult =>
  syncResult('ConfigInvalid', message, { kind: 'terminal' }, { worker, drift: NO_DRIFT })

function inputsOf({ resource: { metadata } }: ReconcileContext, { versions }: Desired, { hash }: CatalogType): string {
  return interned(
    JSON.stringify([metadata.generation, metadata.annotations?.[RECONCILE_ANNOTATION], hash, [...versions]]),
  )
}

/** Updates the remembered versions: a version that changed while the value stayed the same counts as sent. */
function recognised(
  { deps, workerState, recorded }: ReconcileContext,
  { named, versions }: Desired,
  type: CatalogType,
  unread: ReadonlySet<string>,
): SecretState {
  const sources = new Map(recorded.sources)
  for (const [field, version] of versions) {
    const value = named[field]
    const isKnown =
      (sources.get(field) ?? '') !== '' && holdsSecret(field, type) && !unread.has(field) && value !== undefined
    if (isKnown && workerState.digests?.get(field) === deps.memory.digest(value)) sources.set(field, version)
  }
  return { ...recorded, sources }
}

/** Fields that other clients changed since the remembered generation; `null` if unknown. */
interface Changes {
  readonly kind: 'changes'
  readonly fields: ReadonlySet<string> | null
}
const UNKNOWN_CHANGES: Changes = { kind: 'changes', fields: null }

/** Reads the history of the config, only if a secret depends on it. */
async function changesSince(
  context: ReconcileContext,
  { epoch, record }: Registered,
  type: CatalogType,
): Promise<Changes | SyncResult> {
  const {
    deps,
    workerState,
    signal,
    recorded: { epoch: known, generation, sources },
  } = context
  const hasSecrets = [...sources].some(([field, version]) => version !== '' && holdsSecret(field, type))
  if (!hasSecrets || known !== epoch || generation === undefined || generation >= record.config_gen)
    return UNKNOWN_CHANGES
  const answer = await deps.master.history(workerState.worker, HISTORY_LIMIT, signal)
  if (answer.kind !== 'ok') return refusedResult(answer, context)
  const since = answer.value.filter(({ config_gen: gen }) => gen > generation)
  const reachesBack = answer.value.length > since.length || since.at(-1)?.config_gen === generation + 1
  if (!reachesBack || answer.epoch !== epoch) return UNKNOWN_CHANGES
  return { kind: 'changes', fields: new Set(since.flatMap(({ changed }) => changed)) }
}
