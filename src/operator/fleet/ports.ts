/**
 * @module operator/fleet/ports
 * Defines the interfaces through which the rest of the operator uses the master: a table of the master's workers, kept
 * current by events and lists, and calls that change them.
 *
 * No call throws for an error of the master or the network: every result is an {@link CallResult}. The one exception is
 * the signal: when it aborts, a call rejects with its reason.
 * @see D15, D31, D39, D46, D47, D51
 */
import type {
  BulkResult,
  CatalogEntryBody,
  ConfigBody,
  EnrolmentBody,
  EnrolmentShown,
  FieldError,
  HistoryBody,
  JsonObject,
  JsonSchema,
  RevisionBody,
  RevisionsBody,
  RolloutBody,
  RolloutShown,
  SecretPaths,
  Stats,
  WorkerBody,
} from '../../protocol/index.ts'

export interface WorkerRef {
  readonly type: string
  readonly workerId: string
}

/** The config of an automation type, as its catalog entry describes it. */
export interface CatalogType {
  readonly kind: CatalogEntryBody['kind']
  readonly schema: JsonSchema
  readonly secrets: SecretPaths
  /** Hash of the schema. Another hash means another schema. */
  readonly hash: string
}

/** The fields of a worker that the operator needs. The full statistics are many times as large. */
export type WorkerRecord = Omit<WorkerBody, 'hardware' | 'current_stats'> & {
  readonly current_stats: KeptStats | null
}

interface KeptStats extends Pick<Stats, 'slots' | 'cpu_pct' | 'rss_mb'> {
  /** The generation that the worker ran when it sent them; null if it does not report it (D137). */
  readonly config_gen?: number | null
}

export interface Registered {
  readonly kind: 'registered'
  /** As reads show it: secrets masked, defaults filled in. */
  readonly record: WorkerRecord
  /** The epoch of the store that `record.config_gen` belongs to. */
  readonly epoch: string
  /** The config was not read, or has changed since. Read it once before comparing. */
  readonly isStale: boolean
  /**
   * When the record was read, by the master's clock. `last_seen` and `current_stats` are from then; events update
   * neither.
   */
  readonly readMs: number
}

/** A worker as sets see it: they compare its label, and need no config. */
export interface WorkerRow {
  readonly record: Omit<WorkerRecord, 'config'>
  /** The epoch of the store that `record.config_gen` belongs to. */
  readonly epoch: string
  /** The config has changed since the record was read, so its label may be outdated. A change is reported. */
  readonly isStale: boolean
}

/** What a bulk change has made of one worker. */
export interface AppliedRevision {
  readonly configGen: number
  /** The `config_revision` that its record has now. */
  readonly label: string
  readonly managedBy: string
}

/** What the table knows of one worker. */
export type Seen =
  /** Not read yet. A change is reported once it is known. */
  | { readonly kind: 'pending' }
  /** The master has no automation of this type. */
  | { readonly kind: 'unknown_type' }
  /** The token does not cover the type. No call is made for it. */
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'unregistered' }
  | Registered

/** What lists of a type contain. `labels`: no configs, since only sets name the type, and they compare labels. */
export type TypeReading = 'configs' | 'labels'

/** State of a type as a whole. */
export type TypeReach = 'pending' | 'in_reach' | 'unknown_type' | 'forbidden'

export type TableChange =
  /** A relevant difference of one worker. */
  | { readonly kind: 'worker'; readonly type: string; readonly workerId: string }
  /** The first list of a type is complete: a worker that was not reported is not registered. */
  | { readonly kind: 'listed'; readonly type: string }
  /** The whole type: its schema changed, the type was added or removed, or the rights of the token changed. */
  | { readonly kind: 'type'; readonly type: string }
  /** The master's store was replaced or went back to an older state. Every worker is compared again, edits first. */
  | { readonly kind: 'state_reset'; readonly message: string }

/** What the status of a resource remembers of its worker. */
export interface Remembered {
  readonly epoch: string
  /** The last `config_gen` that was compared. */
  readonly generation: number
}

export interface FleetTable {
  get(type: string, workerId: string): Seen
  /** Whether the worker is registered, as far as is known. Cheaper than `get`. */
  isRegistered(type: string, workerId: string): boolean
  catalog(type: string): CatalogType | undefined
  /** Every registered worker of a type, for the resync. */
  workers(type: string): Iterable<Omit<WorkerRecord, 'config'>>
  /** Sets the types to read, and how; others are dropped. Cheap when nothing changed. */
  setTypes(types: ReadonlyMap<string, TypeReading>): void
  /** Adds a listener, which may only enqueue keys. @returns a function that removes it. */
  onChange(listener: (change: TableChange) => void): () => void
  /** Runs until the signal aborts; also on a standby. */
  run(signal: AbortSignal): Promise<void>
  /** Whether each type has been listed, or is known to be unavailable. */
  readonly isSynced: boolean
  /** How long the master has not responded, in milliseconds. 0 while it responds. */
  readonly unavailableMs: number
  /** Milliseconds since 1970 by the master's clock, for comparison with `last_seen`. */
  masterNowMs(): number
  /**
   * Whether the master lost state: its epoch differs, or its generation is below the remembered one.
   * The first time it is reported as `state_reset`, however many resources find it.
   */
  hasForgotten(worker: Registered, remembered: Remembered): boolean
}

/** The part of the table that sets use. */
export interface WorkerRows extends Pick<FleetTable, 'catalog' | 'masterNowMs' | 'unavailableMs'> {
  /** Every registered worker of a type, with what a change must name. */
  rows(type: string): Iterable<WorkerRow>
  /** Whether the workers of the type have been listed, or why not. */
  reach(type: string): TypeReach
}

/** Why a call did not succeed. */
export type CallRefusal =
  /** 404: the worker is not registered (any more). */
  | { readonly kind: 'not_registered' }
  | { readonly kind: 'unknown_type' }
  /** 422. */
  | { readonly kind: 'rejected'; readonly faults: readonly FieldError[]; readonly message: string }
  /** 413. */
  | { readonly kind: 'too_large'; readonly message: string }
  /** The token is valid and does not cover the type. */
  | { readonly kind: 'forbidden'; readonly message: string }
  /** 409, 412: another client changed the claim or the config first. */
  | { readonly kind: 'stale' }
  /** 429 or 503: the master requests a lower rate, and the limiter has slowed down. A 503 may have taken effect. */
  | { readonly kind: 'throttled'; readonly effect: 'not_sent' | 'unknown'; readonly retryAfterMs: number }
  /** `not_sent`: the call had no effect. `unknown`: it may have had one; read again, then decide. */
  | { readonly kind: 'unavailable'; readonly effect: 'not_sent' | 'unknown'; readonly message: string }
  /** Another replica leads. Nothing was sent. */
  | { readonly kind: 'not_leading' }
  /** 400, 405, 415: a programming error of the operator, or a master of another version. */
  | { readonly kind: 'bug'; readonly message: string }

interface CallSuccess<T> {
  readonly kind: 'ok'
  readonly value: T
  readonly epoch: string
}

export type CallResult<T> = CallSuccess<T> | CallRefusal

/** Calls to the master. Each response is applied to the table before the call resolves. */
export interface MasterWriter {
  get(worker: WorkerRef, signal: AbortSignal): Promise<CallResult<Registered>>
  /** Newest first, at most `limit` of the last 50. */
  history(worker: WorkerRef, limit: number, signal: AbortSignal): Promise<CallResult<HistoryBody>>
  /** PATCH of the config. `mark`: the config that the patch was computed against. Never sent twice. */
  patch(
    worker: WorkerRef,
    patch: JsonObject,
    mark: { readonly epoch: string; readonly configGen: number },
    actor: string,
    signal: AbortSignal,
  ): Promise<CallResult<ConfigBody>>
  /** PUT: replaces an existing claim, so classify it first. */
  claim(worker: WorkerRef, managedBy: string, signal: AbortSignal): Promise<CallResult<Registered>>
  /** DELETE of the actor's own claim. */
  release(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<Registered>>
  /** DELETE of another claim, so classify it first. */
  releaseOrphaned(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<Registered>>
  drain(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  /** DELETE of the worker's record. */
  forget(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<void>>
}

/** Calls about many workers of a type, or about none. */
export interface RevisionWriter {
  /** Stores a revision. `not_registered`: the master does not know the route, because it is of an older release. */
  put(type: string, revision: string, body: RevisionBody, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  /** Brings workers to a revision. `not_registered`: the revision is not stored. */
  apply(type: string, change: BulkChange, signal: AbortSignal): Promise<CallResult<readonly BulkResult[]>>
  /** The revisions of the type, with what workers did under each. */
  list(type: string, signal: AbortSignal): Promise<CallResult<RevisionsBody['revisions']>>
}

/** Calls about enrolment rules. `not_registered`: the revision is not stored, or the master has no rules. */
export interface RuleWriter {
  put(type: string, name: string, rule: EnrolmentBody, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  remove(type: string, name: string, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  list(type: string, signal: AbortSignal): Promise<CallResult<readonly EnrolmentShown[]>>
}

/** Calls about rollout reports. `not_registered`: there is no such report, or the master has no reports. */
export interface ReportWriter {
  put(type: string, name: string, report: RolloutBody, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  remove(type: string, name: string, actor: string, signal: AbortSignal): Promise<CallResult<void>>
  list(type: string, signal: AbortSignal): Promise<CallResult<readonly RolloutShown[]>>
}

/** A bulk change. Every item names the label that its worker gets. */
export interface BulkChange {
  readonly revision: string
  readonly managedBy: string
  readonly keep: readonly string[]
  readonly isDryRun: boolean
  readonly items: readonly BulkChangeItem[]
}

export interface BulkChangeItem {
  readonly workerId: string
  /** The config and the manager that the worker must have. */
  readonly epoch: string
  readonly configGen: number
  readonly managedBy: string | null
  readonly patch: JsonObject
  readonly variant: string
}

/** The resource that a claim names. */
export interface Claimant {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/**
 * free        unclaimed
 * ours        the claim of this resource
 * duplicate   another live resource of this operator: the rule for duplicates decides
 * orphaned    a resource that no longer exists, in a watched namespace: may be taken over
 * taken_over  as `orphaned`, but this resource held the claim before, and that resource was not deleted here: another
 *             cluster has it and owns the worker
 * foreign     another operator
 * stray       no operator: may be taken over, or any client with a token could end drift correction
 */
export type ClaimClass = 'free' | 'ours' | 'duplicate' | 'orphaned' | 'taken_over' | 'foreign' | 'stray'

export interface ClaimFacts {
  /** The record's `managed_by`. */
  readonly managedBy: string | null
  /** The claim of this resource, by `claimOf`. */
  readonly own: string
  /** The claims of all live resources. */
  readonly isLive: (claim: string) => boolean
  readonly watches: (namespace: string) => boolean
  /** Whether a resource that this process has cached had the claim, and is deleted. */
  readonly wasDeletedHere: (claim: string) => boolean
  /** `status.config.epoch` is set: as far as its status shows, this resource holds the claim. */
  readonly hasHeldBefore: boolean
}
