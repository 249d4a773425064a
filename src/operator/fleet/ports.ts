/**
 * @module operator/fleet/ports
 * What the rest of the operator asks of the master's side, and nothing of how it is done: a table of what the master
 * knows, kept current by its events and lists, and calls that change something there.
 *
 * No call throws for what a master or a network does: every ending is an {@link Outcome}. The one exception is the
 * signal: when it aborts, a call rejects with its reason.
 * @see D15, D31, D39, D46, D47, D51
 */
import type {
  ConfigBody,
  FieldError,
  HistoryBody,
  JsonObject,
  JsonSchema,
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
  readonly schema: JsonSchema
  readonly secrets: SecretPaths
  /** Of the schema: another hash is another schema. */
  readonly hash: string
}

/** What is needed of a worker; the whole of its statistics is many times as large. */
export type WorkerRecord = Omit<WorkerBody, 'hardware' | 'current_stats'> & {
  readonly current_stats: Pick<Stats, 'slots' | 'cpu_pct' | 'rss_mb'> | null
}

export interface Registered {
  readonly kind: 'registered'
  /** As reads show it: secrets masked, defaults filled. */
  readonly record: WorkerRecord
  /** The life of the store that `record.config_gen` belongs to. */
  readonly epoch: string
  /** The config has moved on since the record was read: one `get` before anything is judged by it. */
  readonly isStale: boolean
  /** When the record was read, by the master's clock. `last_seen` and `current_stats` are of that time; events bring neither. */
  readonly readMs: number
}

/** What is known of one worker. */
export type Seen =
  /** Not asked yet; a change is told when it is known. */
  | { readonly kind: 'pending' }
  /** The master has no automation of this type. */
  | { readonly kind: 'unknown_type' }
  /** The token does not cover the type; no call is made for it. */
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'unregistered' }
  | Registered

export type TableChange =
  /** A difference that matters of one worker. */
  | { readonly kind: 'worker'; readonly type: string; readonly workerId: string }
  /** All of a type: its schema is another, the type came or went, or the token's rights did. */
  | { readonly kind: 'type'; readonly type: string }
  /** The master's store is another one, or went back: everything is judged again, edits first. */
  | { readonly kind: 'state_reset'; readonly message: string }

/** What the operator remembers of a worker in the status of its resource. */
export interface Remembered {
  readonly epoch: string
  /** The last `config_gen` that was judged. */
  readonly generation: number
}

export interface FleetTable {
  get(type: string, workerId: string): Seen
  catalog(type: string): CatalogType | undefined
  /** Every registered worker of a type, for sweeps. */
  workers(type: string): Iterable<Omit<WorkerRecord, 'config'>>
  /** The types that are to be read; others are dropped. Cheap when nothing changed. */
  setTypes(types: Iterable<string>): void
  /** Listeners may only enqueue keys. Returns how to end it. */
  onChange(listener: (change: TableChange) => void): () => void
  /** Runs until the signal aborts; also on a standby. */
  run(signal: AbortSignal): Promise<void>
  /** Whether each type has been listed, or is known to be out of reach. */
  readonly synced: boolean
  /** How long the master has not answered; 0 while it does. */
  readonly unavailableMs: number
  /** Milliseconds since 1970 by the master's clock, for `last_seen`. */
  masterNowMs(): number
  /**
   * True: the master forgot what it had told us (another epoch, or a generation below the remembered one).
   * The first time it is told as `state_reset`, however many resources find it.
   */
  hasForgotten(worker: Registered, remembered: Remembered): boolean
}

/** Why a call did not succeed. */
export type Refusal =
  /** 404: the worker is not known (any more). */
  | { readonly kind: 'not_registered' }
  | { readonly kind: 'unknown_type' }
  /** 422. */
  | { readonly kind: 'rejected'; readonly faults: readonly FieldError[]; readonly message: string }
  /** 413. */
  | { readonly kind: 'too_large'; readonly message: string }
  /** The token is good and does not cover the type. */
  | { readonly kind: 'forbidden'; readonly message: string }
  /** 409, 412: somebody else changed the claim, or the config, first. */
  | { readonly kind: 'stale' }
  /** 429 or 503: the master asks for less, and the limiter has slowed down. A 503 may have had its effect. */
  | { readonly kind: 'throttled'; readonly effect: 'not_sent' | 'unknown'; readonly retryAfterMs: number }
  /** `not_sent`: it cannot have had an effect. `unknown`: it may have; read again, then decide. */
  | { readonly kind: 'unavailable'; readonly effect: 'not_sent' | 'unknown'; readonly message: string }
  /** Another replica leads: nothing was sent. */
  | { readonly kind: 'not_leading' }
  /** 400, 405, 415: a mistake of ours, or a master of another version. */
  | { readonly kind: 'bug'; readonly message: string }

interface Done<T> {
  readonly kind: 'ok'
  readonly value: T
  readonly epoch: string
}

export type Outcome<T> = Done<T> | Refusal

/** Calls to the master. Each answer goes into the table before the call resolves. */
export interface MasterWriter {
  get(worker: WorkerRef, signal: AbortSignal): Promise<Outcome<Registered>>
  /** Newest first, at most `limit` of the last 50. */
  history(worker: WorkerRef, limit: number, signal: AbortSignal): Promise<Outcome<HistoryBody>>
  /** `mark`: the config that the patch was made against. Never sent twice. */
  patch(
    worker: WorkerRef,
    patch: JsonObject,
    mark: { readonly epoch: string; readonly configGen: number },
    actor: string,
    signal: AbortSignal,
  ): Promise<Outcome<ConfigBody>>
  /** PUT: replaces a claim that is there, so judge it first. */
  claim(worker: WorkerRef, managedBy: string, signal: AbortSignal): Promise<Outcome<Registered>>
  /** DELETE of the actor's own claim. */
  release(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<Outcome<Registered>>
  /** DELETE of a claim of others, so judge it first. */
  releaseOrphaned(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<Outcome<Registered>>
  drain(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<Outcome<void>>
  /** DELETE of the worker's record. */
  forget(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<Outcome<void>>
}

/** The resource that a claim names. */
export interface Claimant {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/**
 * free        nobody's
 * ours        this resource's
 * duplicate   another live resource's of this operator: the rule for duplicates decides
 * left_over   of a resource that is gone, in a namespace we watch: ours to take
 * robbed      as before, but this resource held it already: somebody else sees that resource, so it is theirs
 * foreign     of another operator
 * stray       of no operator: ours to take, or anyone with a token could end drift correction
 */
export type ClaimVerdict = 'free' | 'ours' | 'duplicate' | 'orphaned' | 'taken_over' | 'foreign' | 'stray'

export interface ClaimFacts {
  /** The record's `managed_by`. */
  readonly managedBy: string | null
  /** Our claim, by `claimOf`. */
  readonly own: string
  /** The claims of all live resources. */
  readonly isLive: (claim: string) => boolean
  readonly watches: (namespace: string) => boolean
  /** `status.config.epoch` is set: this resource holds the claim as far as it knows. */
  readonly heldBefore: boolean
}
// Pure, from claims.ts: claimOf(claimant: Claimant): string; judgeClaim(facts: ClaimFacts): ClaimVerdict;
// isLeftOver(managedBy: string, facts: Pick<ClaimFacts, 'isLive' | 'watches'>): boolean, for the sweep.
