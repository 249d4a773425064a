/**
 * @module operator/fleetworker/compare-config
 * Compares a resource with the worker's record, and decides whether a config that differs is written or reported. It
 * reads what the comparison needs (the record, sources, the config's history) and writes nothing. A secret is read only
 * when it has to be sent.
 *
 *   suspend, Observe ──▶ report
 *   Enforce          ──▶ write
 *   Warn             ──▶ write if the resource changed or the master lost its state, else report
 */
import { type JsonObject, pointerStep } from '../../protocol/index.ts'
import type { CatalogType, Registered } from '../fleet/index.ts'
import { interned } from '../interned.ts'
import {
  type Desired,
  type SecretActs,
  type SecretState,
  desiredOf,
  holdsSecret,
  isSecretField,
  isUnsent,
  secretActs,
} from './desired.ts'
import { type Difference, boundDifferenceOf } from './diff.ts'
import {
  NO_DRIFT,
  type ReconcileContext,
  type SyncResult,
  refusedResult,
  syncResult,
  unreadableResult,
} from './context.ts'
import { RECONCILE_ANNOTATION } from './resource.ts'
import type { FleetWorkerSpec, FleetWorkerStatus } from './schema.ts'

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

/** @returns the record from the table; reads it from the master if the table marks it as stale. */
export async function look(context: ReconcileContext): Promise<Registered | SyncResult> {
  const { deps, workerState, signal } = context
  const seen = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  if (seen.kind !== 'registered') return unreadableResult(seen, context)
  if (!seen.isStale && !workerState.isUnsure) return seen
  const response = await deps.master.get(workerState.worker, signal)
  if (response.kind !== 'ok') return refusedResult(response, context)
  workerState.isUnsure = false
  return response.value
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
    if (read.kind === 'fault')
      return read.reason === 'ConfigInvalid'
        ? invalid(read.message, seen)
        : syncResult(read.reason, read.message, { kind: 'ok', againAfterMs: SOURCE_MS }, { worker: seen })
    const result = desiredOf(resource, read.sources, type)
    if (result.kind === 'invalid')
      return syncResult(result.reason, result.message, { kind: 'terminal' }, { worker: seen, drift: NO_DRIFT })
    const { desired } = result
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
  const response = await deps.master.history(workerState.worker, HISTORY_LIMIT, signal)
  if (response.kind !== 'ok') return refusedResult(response, context)
  const since = response.value.filter(({ config_gen: gen }) => gen > generation)
  const reachesBack = response.value.length > since.length || since.at(-1)?.config_gen === generation + 1
  if (!reachesBack || response.epoch !== epoch) return UNKNOWN_CHANGES
  return { kind: 'changes', fields: new Set(since.flatMap(({ changed }) => changed)) }
}

export const policyOf = (spec: Pick<FleetWorkerSpec, 'managementPolicy'>) => spec.managementPolicy ?? 'Enforce'
/** Whether the operator writes nothing to the master except the release of its claim. */
export const isHandsOff = (spec: Pick<FleetWorkerSpec, 'managementPolicy' | 'suspend'>): boolean =>
  spec.suspend === true || policyOf(spec) === 'Observe'

export interface PolicyFacts {
  readonly spec: FleetWorkerSpec
  /** The master already had this config, according to the status. */
  readonly wasInForce: boolean
  /** A source has another version than the one that was sent. */
  readonly hasMoved: boolean
  /** The master lost state: another epoch, a generation below the remembered one, or a missing claim. */
  readonly isForgotten: boolean
}

export function mayWriteConfig({ spec, wasInForce, hasMoved, isForgotten }: PolicyFacts): boolean {
  if (isHandsOff(spec)) return false
  return policyOf(spec) === 'Enforce' || !wasInForce || hasMoved || isForgotten
}

/** Whether the status says that the master has, or had, the config of this generation. */
export function saysInForce({ conditions = [] }: FleetWorkerStatus, generation: number): boolean {
  const synced = conditions.find(({ type }) => type === 'Synced')
  return synced?.status === 'True' && synced.observedGeneration === generation
}

/** An empty version means that a field is about to be sent; it names no source. */
export const hasMoved = ({ versions }: Desired, { sources }: SecretState): boolean =>
  [...versions].some(([field, version]) => {
    const sent = sources.get(field)
    return sent !== '' && sent !== version
  })
