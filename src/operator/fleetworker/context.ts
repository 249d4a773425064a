/**
 * @module operator/fleetworker/context
 * Defines what a reconcile gets, its dependencies and its context, and what it returns: what to report, and when to
 * look again. There is one function for each way in which nothing could be written; none of them throws.
 */
import type { Clock, Log, LogThrottle } from '../../runtime/index.ts'
import type { FleetTable, MasterWriter, CallRefusal, Registered, Seen } from '../fleet/index.ts'
import type {
  EventRecorder,
  KubeTransport,
  Leadership,
  ObjectCache,
  ReconcileOutcome,
  StatusWriter,
} from '../kube/index.ts'
import type { DeletedClaims } from './deleted-claims.ts'
import type { ReconcileMemory, WorkerState } from './memory.ts'
import type { FleetWorkerObject } from './resource.ts'
import type { FleetWorkerStatus } from './schema.ts'
import type { Sources } from './sources.ts'
import type { Permits } from './ownership.ts'
import type { SyncedReason } from './conditions.ts'
import type { SecretState } from './desired.ts'

export type DriftOutcome = 'reverted' | 'tolerated' | 'contested'

export interface ReconcileDeps {
  /** Indexed by INDICES. */
  readonly cache: ObjectCache<FleetWorkerObject> & { applyResponse(written: FleetWorkerObject): void }
  /** Whether the cache is known to contain every edit of a namespace before this term, and up to a few seconds ago. */
  readonly isFresh: (namespace: string) => boolean
  readonly table: FleetTable
  readonly master: MasterWriter
  /** As {@link master}, but its calls are sent first. */
  readonly edits: MasterWriter
  readonly sources: Pick<Sources, 'read'>
  readonly transport: KubeTransport
  readonly status: StatusWriter<FleetWorkerStatus>
  readonly events: EventRecorder
  readonly leadership: Pick<Leadership, 'mayWrite' | 'confirm'>
  /** One per term. */
  readonly memory: ReconcileMemory
  /** Whether a claim is that of an existing FleetWorker or set. */
  readonly isLiveClaim: (claim: string) => boolean
  /** One per process. */
  readonly deletedClaims: Pick<DeletedClaims, 'has'>
  readonly clock: Clock
  readonly log: Log
  /** Limits warnings about missing rights to one per minute and namespace. */
  readonly logThrottle: LogThrottle
  /** Whether this operator watches the resources of a namespace. */
  readonly watches: (namespace: string) => boolean
  readonly permits: Permits
  readonly onDrift: (outcome: DriftOutcome) => void
}

const FORBIDDEN_MS = 5 * 60_000
export const PARKED_MS = 30 * 60_000
const DEFAULT_REGISTRATION_MS = 600_000
const MAX_FAULTS_SHOWN = 3

type RefusalOf<K extends CallRefusal['kind']> = Extract<CallRefusal, { readonly kind: K }>

/** The state of one reconcile of a resource. */
export interface ReconcileContext {
  readonly resource: FleetWorkerObject
  readonly deps: ReconcileDeps
  readonly signal: AbortSignal
  readonly workerState: WorkerState
  /** The last status that was put, or the one of the API server. */
  readonly lastStatus: FleetWorkerStatus
  readonly recorded: SecretState
}

export interface SyncResult {
  readonly kind: 'result'
  readonly synced: { readonly reason: SyncedReason; readonly message: string }
  readonly outcome: ReconcileOutcome
  /** `null`: not registered. Omitted: not known now. */
  readonly worker?: Registered | null
  /** Omitted: unchanged. */
  readonly secretState?: SecretState
  /** What differs and is left so, and which client changed it. Omitted: unchanged. */
  readonly drift?: { readonly paths: readonly string[]; readonly by: string | null }
  /** Nothing is reported before the master has been unreachable for a minute. */
  readonly isQuiet?: boolean
  /** Nothing could be compared yet: the table will notify once it has read the worker and its type. */
  readonly isPending?: boolean
  /** The secret state must be written to the status before the reconcile continues. */
  readonly isAhead?: boolean
  readonly isReleasing?: boolean
  /** This namespace may not manage the worker, so the status shows nothing of it. */
  readonly isHidden?: boolean
}

/** A side changed during the reconcile, which starts again. */
export interface Repeat {
  readonly kind: 'repeat'
}
export const REPEAT: Repeat = { kind: 'repeat' }

export const NO_DRIFT = { paths: [], by: null } as const
const UPDATING = { reason: 'Updating', message: 'this spec is being sent to the master' } as const

export const syncResult = (
  reason: SyncedReason,
  message: string,
  outcome: ReconcileOutcome,
  more: Omit<SyncResult, 'kind' | 'synced' | 'outcome'> = {},
): SyncResult => ({ kind: 'result', synced: { reason, message }, outcome, ...more })

/** Result of an attempt that ended before anything was learnt. */
export const unreportedResult = (outcome: ReconcileOutcome, worker?: Registered): SyncResult => ({
  kind: 'result',
  synced: UPDATING,
  outcome,
  isQuiet: true,
  ...(worker !== undefined && { worker }),
})
/** Result while the table has not read the worker, or its type; it notifies once it has. */
export const pendingResult = (worker?: Registered): SyncResult => ({
  ...unreportedResult({ kind: 'ok' }, worker),
  isPending: true,
})
/** As {@link unreportedResult}, if a change was started and is not complete. */
export const updatingResult = (
  outcome: ReconcileOutcome,
  worker: Registered,
  secretState?: SecretState,
): SyncResult => ({
  kind: 'result',
  synced: UPDATING,
  outcome,
  worker,
  ...(secretState !== undefined && { secretState }),
})

/** Result if the worker's config cannot be read. */
export function unreadableResult(seen: Exclude<Seen, Registered>, context: ReconcileContext): SyncResult {
  if (seen.kind === 'pending') return pendingResult()
  if (seen.kind === 'unregistered') return unregistered(context)
  if (seen.kind === 'unknown_type') return unknownType(context)
  return syncResult('Forbidden', `the operator's token is not valid for the type ${context.resource.spec.type}`, {
    kind: 'ok',
    againAfterMs: FORBIDDEN_MS,
  })
}

const unknownType = ({ resource }: ReconcileContext): SyncResult =>
  syncResult(
    'UnknownType',
    `the master has no automation of the type ${resource.spec.type}`,
    { kind: 'terminal' },
    { worker: null, drift: NO_DRIFT },
  )

function unregistered(context: ReconcileContext): SyncResult {
  const { deps, workerState, resource } = context
  const { registrationTimeoutSeconds: seconds } = resource.spec
  const timeoutMs = seconds === undefined ? DEFAULT_REGISTRATION_MS : seconds * 1_000
  const nowMs = deps.table.masterNowMs()
  workerState.missing = { generation: resource.metadata.generation, sinceMs: missingSinceMs(context, timeoutMs, nowMs) }
  const leftMs = workerState.missing.sinceMs + timeoutMs - nowMs
  const facts = { worker: null, drift: NO_DRIFT } as const
  if (timeoutMs === 0)
    return syncResult('WorkerNotRegistered', 'no worker with this id has registered yet', { kind: 'ok' }, facts)
  if (leftMs > 0)
    return syncResult(
      'WorkerNotRegistered',
      'no worker with this id has registered yet',
      { kind: 'ok', againAfterMs: leftMs },
      facts,
    )
  return syncResult(
    'RegistrationTimeout',
    `no worker with this id has registered within ${timeoutMs / 1_000} s; ` +
      'start one, or correct spec.type and spec.workerID',
    { kind: 'terminal' },
    facts,
  )
}

/**
 * The later of creation, the last time the worker went missing, and the last change of the spec; after a restart, from
 * the status.
 */
function missingSinceMs(
  { workerState, lastStatus, resource: { metadata } }: ReconcileContext,
  timeoutMs: number,
  nowMs: number,
): number {
  if (workerState.missing?.generation === metadata.generation) return workerState.missing.sinceMs
  const synced = lastStatus.conditions?.find(({ type }) => type === 'Synced')
  if (synced === undefined) return Date.parse(metadata.creationTimestamp)
  if (synced.observedGeneration !== metadata.generation) return nowMs
  if (synced.reason === 'RegistrationTimeout') return nowMs - timeoutMs
  return synced.reason === 'WorkerNotRegistered' ? Date.parse(synced.lastTransitionTime) : nowMs
}

/** `inputs`: what was refused, so it is not sent again unchanged. Omitted: nothing was sent. */
export function refusedResult(
  refusal: CallRefusal,
  context: ReconcileContext,
  worker?: Registered,
  inputs?: string,
): SyncResult {
  const facts = worker === undefined ? {} : { worker }
  switch (refusal.kind) {
    case 'not_registered':
      return unregistered(context)
    case 'unknown_type':
      return unknownType(context)
    case 'rejected':
      return parked('Rejected', rejection(refusal), context, facts, inputs)
    case 'too_large':
      return parked('ConfigInvalid', refusal.message, context, facts, inputs)
    case 'bug':
      context.deps.log.error(
        'the master rejected a config as malformed, which is a defect of the operator; please report it',
        {
          ...context.workerState.worker,
          refused: refusal.message,
        },
      )
      return parked('Rejected', refusal.message, context, facts, inputs)
    case 'forbidden':
      return syncResult('Forbidden', refusal.message, { kind: 'retry', afterMs: FORBIDDEN_MS }, facts)
    case 'throttled':
      return throttledResult(refusal, context, worker)
    case 'not_leading':
      // Usually only for the moment after a pause; a term that has ended retries nothing.
      return unreportedResult({ kind: 'retry' }, worker)
    case 'stale':
      context.workerState.isUnsure = true
      return unreportedResult({ kind: 'retry' }, worker)
    case 'unavailable':
      return unavailableResult(refusal, context, worker)
  }
}

/** Result if the master requested a lower rate. */
function throttledResult(
  { effect, retryAfterMs }: RefusalOf<'throttled'>,
  { workerState }: ReconcileContext,
  worker: Registered | undefined,
): SyncResult {
  if (effect === 'unknown') workerState.isUnsure = true
  return unreportedResult({ kind: 'retry', ...(retryAfterMs > 0 && { afterMs: retryAfterMs }) }, worker)
}

/** Result if the master did not respond. A change that may have taken effect is reported as being sent. */
function unavailableResult(
  { effect }: RefusalOf<'unavailable'>,
  { workerState }: ReconcileContext,
  worker: Registered | undefined,
): SyncResult {
  if (effect === 'not_sent' || worker === undefined) return unreportedResult({ kind: 'retry' }, worker)
  workerState.isUnsure = true
  return updatingResult({ kind: 'retry' }, worker)
}

const rejection = ({ faults, message }: RefusalOf<'rejected'>): string =>
  faults.length === 0
    ? message
    : faults
        .slice(0, MAX_FAULTS_SHOWN)
        .map(({ path, message: why }) => `${path === '' ? 'the config' : path}: ${why}`)
        .join('; ')

function parked(
  reason: SyncedReason,
  message: string,
  { deps, workerState }: ReconcileContext,
  facts: Pick<SyncResult, 'worker'>,
  inputs: string | undefined,
): SyncResult {
  if (inputs !== undefined)
    workerState.parked = { inputs, reason, message, untilMs: deps.clock.monotonicMs() + PARKED_MS }
  return syncResult(reason, message, { kind: 'terminal' }, { ...facts, drift: NO_DRIFT })
}
