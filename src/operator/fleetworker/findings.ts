/**
 * @module operator/fleetworker/findings
 * What a pass over one resource came to: what is said of it, and when it is looked at again. One function for each way in
 * which nothing could be written; none of them is an exception.
 */
import type { Refusal, Registered, Seen } from '../fleet/index.ts'
import type { Outcome } from '../kube/index.ts'
import type { SyncedReason } from './conditions.ts'
import type { ReconcileDeps } from './deps.ts'
import type { Entry } from './memory.ts'
import type { FleetWorkerObject } from './resource.ts'
import type { FleetWorkerStatus } from './schema.ts'
import type { SecretMemory } from './secrets.ts'

const FORBIDDEN_MS = 5 * 60_000
export const PARKED_MS = 30 * 60_000
const DEFAULT_REGISTRATION_MS = 600_000
const MAX_FAULTS_SHOWN = 3

/** One resource on its way through a reconcile. */
export interface Pass {
  readonly resource: FleetWorkerObject
  readonly deps: ReconcileDeps
  readonly signal: AbortSignal
  readonly entry: Entry
  /** As it was put last, or as the API server has it. */
  readonly before: FleetWorkerStatus
  readonly standing: SecretMemory
}

export interface Finding {
  readonly synced: { readonly reason: SyncedReason; readonly message: string }
  readonly outcome: Outcome
  /** Null: not registered. Left out: not known now. */
  readonly worker?: Registered | null
  /** Left out: as before. */
  readonly memory?: SecretMemory
  /** What differs and is left so, and who made it so. Left out: as before. */
  readonly drift?: { readonly paths: readonly string[]; readonly by: string | null }
  /** Nothing is said of it before the master has been away for a minute. */
  readonly isQuiet?: boolean
  /** What is remembered has to stand in the status before it goes on. */
  readonly isAhead?: boolean
  readonly releasing?: boolean
  /** The worker is not one of this namespace: nothing of it is shown. */
  readonly isHidden?: boolean
}

export const NO_DRIFT = { paths: [], by: null } as const
const UPDATING = { reason: 'Updating', message: 'this spec is being sent to the master' } as const

export const found = (
  reason: SyncedReason,
  message: string,
  outcome: Outcome,
  more: Omit<Finding, 'synced' | 'outcome'> = {},
): Finding => ({ synced: { reason, message }, outcome, ...more })

/** A try that ended before it came to anything. */
export const quiet = (outcome: Outcome, worker?: Registered): Finding => ({
  synced: UPDATING,
  outcome,
  isQuiet: true,
  ...(worker !== undefined && { worker }),
})
/** The same, where something was begun that is not complete. */
export const updating = (outcome: Outcome, worker: Registered, memory?: SecretMemory): Finding => ({
  synced: UPDATING,
  outcome,
  worker,
  ...(memory !== undefined && { memory }),
})

/** The worker's config cannot be looked at. */
export function unseen(seen: Exclude<Seen, Registered>, pass: Pass): Finding {
  if (seen.kind === 'pending') return quiet({ kind: 'ok' }) // The table tells when it knows.
  if (seen.kind === 'unregistered') return unregistered(pass)
  if (seen.kind === 'unknown_type') return unknownType(pass)
  return found('Forbidden', `the operator's token is not valid for the type ${pass.resource.spec.type}`, {
    kind: 'ok',
    againAfterMs: FORBIDDEN_MS,
  })
}

const unknownType = ({ resource }: Pass): Finding =>
  found(
    'UnknownType',
    `the master has no automation of the type ${resource.spec.type}`,
    { kind: 'terminal' },
    { worker: null, drift: NO_DRIFT },
  )

function unregistered(pass: Pass): Finding {
  const { deps, entry, resource } = pass
  const { registrationTimeoutSeconds: seconds } = resource.spec
  const timeoutMs = seconds === undefined ? DEFAULT_REGISTRATION_MS : seconds * 1_000
  const nowMs = deps.table.masterNowMs()
  entry.missing = { generation: resource.metadata.generation, sinceMs: missingSinceMs(pass, timeoutMs, nowMs) }
  const leftMs = entry.missing.sinceMs + timeoutMs - nowMs
  const facts = { worker: null, drift: NO_DRIFT } as const
  if (timeoutMs === 0)
    return found('WorkerNotRegistered', 'no worker with this id has registered yet', { kind: 'ok' }, facts)
  if (leftMs > 0)
    return found(
      'WorkerNotRegistered',
      'no worker with this id has registered yet',
      { kind: 'ok', againAfterMs: leftMs },
      facts,
    )
  return found(
    'RegistrationTimeout',
    `no worker with this id has registered within ${timeoutMs / 1_000} s; start one, or correct spec.type and spec.workerId`,
    { kind: 'terminal' },
    facts,
  )
}

/** The later of creation, the last time it went missing, and the last change of the spec; after a restart as the status has it. */
function missingSinceMs({ entry, before, resource: { metadata } }: Pass, timeoutMs: number, nowMs: number): number {
  if (entry.missing?.generation === metadata.generation) return entry.missing.sinceMs
  const synced = before.conditions?.find(({ type }) => type === 'Synced')
  if (synced === undefined) return Date.parse(metadata.creationTimestamp)
  if (synced.observedGeneration !== metadata.generation) return nowMs
  if (synced.reason === 'RegistrationTimeout') return nowMs - timeoutMs
  return synced.reason === 'WorkerNotRegistered' ? Date.parse(synced.lastTransitionTime) : nowMs
}

/** `inputs`: what was refused, so that it is not sent again unchanged; left out: nothing was sent. */
export function refused(refusal: Refusal, pass: Pass, worker?: Registered, inputs?: string): Finding {
  const facts = worker === undefined ? {} : { worker }
  switch (refusal.kind) {
    case 'not_registered':
      return unregistered(pass)
    case 'unknown_type':
      return unknownType(pass)
    case 'rejected':
      return parked('Rejected', rejection(refusal), pass, facts, inputs)
    case 'too_large':
      return parked('ConfigInvalid', refusal.message, pass, facts, inputs)
    case 'bug':
      pass.deps.log.error('the master rejected a request of the operator', {
        ...pass.entry.worker,
        refused: refusal.message,
      })
      return parked('Rejected', refusal.message, pass, facts, inputs)
    case 'forbidden':
      return found('Forbidden', refusal.message, { kind: 'retry', afterMs: FORBIDDEN_MS }, facts)
    case 'throttled':
      if (refusal.effect === 'unknown') pass.entry.isUnsure = true
      return quiet({ kind: 'retry', ...(refusal.retryAfterMs > 0 && { afterMs: refusal.retryAfterMs }) }, worker)
    case 'not_leading':
      return quiet({ kind: 'retry' }, worker) // Often but for the moment after a stall; a term that is over tries nothing again.
    case 'stale':
      pass.entry.isUnsure = true
      return quiet({ kind: 'retry' }, worker)
    case 'away':
      break
  }
  if (refusal.effect === 'not_sent' || worker === undefined) return quiet({ kind: 'retry' }, worker)
  pass.entry.isUnsure = true
  return updating({ kind: 'retry' }, worker)
}

const rejection = ({ faults, message }: Extract<Refusal, { readonly kind: 'rejected' }>): string =>
  faults.length === 0
    ? message
    : faults
        .slice(0, MAX_FAULTS_SHOWN)
        .map(({ path, message: why }) => `${path === '' ? 'the config' : path}: ${why}`)
        .join('; ')

function parked(
  reason: SyncedReason,
  message: string,
  { deps, entry }: Pass,
  facts: Pick<Finding, 'worker'>,
  inputs: string | undefined,
): Finding {
  if (inputs !== undefined) entry.parked = { inputs, reason, message, untilMs: deps.clock.monotonicMs() + PARKED_MS }
  return found(reason, message, { kind: 'terminal' }, { ...facts, drift: NO_DRIFT })
}
