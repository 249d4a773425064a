/**
 * @module storage/backend
 * The only way the master touches state. memory/, sqlite/ and redis/ implement it; all pass
 * test/storage/contract.ts and the model suite.
 *
 * Delivery is at least once. A reserved task is leased, not owned: when its visibility deadline has passed the sweep
 * makes it pending again, while a worker that slept through it still believes it holds it. So every lease carries a
 * token larger than any before, and whoever settles with another than the newest is told `lease_lost`.
 *
 *   pending ──reserve──▶ in flight ──ack──▶ gone
 *      ▲                    ├─ release; sweep, deadline passed ──▶ pending
 *      │                    ├─ nack, attempts left ──▶ scheduled ──due──▶ pending
 *      │                    └─ nack, none left or permanent; lease lost too often ──▶ dead
 *      └──────────────────────────── replay ───────────────────────────────┘
 *
 * Six rules: every method is one atomic step and takes a batch; no answer leaves before the change is as durable as
 * the backend promises; correctness never rests on a timer that fires or a message that arrives; no operation is
 * O(queue length); whatever is held has a bound and a refusal; payloads are opaque text.
 *
 * Time is the backend's own: no method takes "now", so two masters cannot disagree on a deadline. Points in time are
 * integer milliseconds since 1970, durations integer milliseconds; a wrong argument is a TypeError before any effect.
 * What a caller meets per item is data (`lease_lost`, `not_found`); a whole call rejects with a FleetError only:
 * STORAGE_UNAVAILABLE (its `outcome` says whether the effect is unknown), STORAGE_OVERLOADED, STORAGE_FULL (growing
 * operations alone), STORAGE_NOT_OPEN, STORAGE_CORRUPT, and at `open` STORAGE_LOCKED, STORAGE_SCHEMA.
 */
import type { JsonText, ReportedState, WorkerState } from '../protocol/index.ts'

type EpochMs = number
/** Fencing token: a safe integer, strictly growing per automation type, pool or lock namespace; never issued twice. */
type Token = number
/** One answer per item, in the order of the items. */
type List<T> = Promise<readonly T[]>

/** What a backend cannot do is data: users see it, tests ask it. */
export interface Capabilities {
  /** Keeps everything across a restart. */
  readonly durable: boolean
  /** May serve several masters at once. */
  readonly shared: boolean
  /** Delivers bus messages; without it publishing does nothing. */
  readonly pubsub: boolean
}

export interface Backend {
  readonly capabilities: Capabilities
  /** Checks, migrates, takes the lock. Every other call before it, or after close, is STORAGE_NOT_OPEN. */
  open(signal: AbortSignal): Promise<void>
  /** Refuses new calls, finishes what was accepted, closes. Repeatable. May be opened again. */
  close(): Promise<void>
  /** No I/O: the last known condition. `profile`: 'durable', 'volatile' … */
  health(): Health
  readonly meta: Meta
  readonly workers: Workers
  readonly configs: Configs
  readonly stats: StatsHistory
  readonly streams: Streams
  readonly tasks: Tasks
  readonly pools: Pools
  readonly kv: Kv
  readonly locks: Locks
  readonly counters: Counters
  readonly bus: Bus
  readonly events: EventLog
}

export interface Health {
  readonly ok: boolean
  readonly profile: string
  readonly since: EpochMs
  readonly detail: string
}

export interface Meta {
  /** `epoch`: random id written once into an empty store; another one means that the store lost its state (D15). */
  info(): Promise<{ readonly epoch: string; readonly schema: number; readonly nowMs: EpochMs }>
  /** Says that this master lives; answers the masters seen within 15 s. */
  beat(masterId: string): List<string>
}

// ── Registry ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One worker: the id is unique within its automation type. */
export interface Ref {
  readonly type: string
  readonly id: string
}
/** `conn` names one accepted register: "<masterId>/<n>". */
export interface Conn extends Ref {
  readonly conn: string
}
/** `instance`: D5; '' when the worker sent none. `defaults`: the config of a worker seen for the first time. */
export interface Registration extends Conn {
  readonly instance: string
  readonly hardware: JsonText
  readonly defaults: JsonText
}
/** What a record says of its worker, as it was last reported; DRAINING while a drain is set. */
export interface Reported {
  readonly state: WorkerState
  readonly lastError: string | null
  readonly appliedGen: number | null
}
/** `before`: what the record said until now; null where it was created. `drain`: the frame is to be sent. `replaced`: the earlier connection, to be closed (D11). `full`: too many records of the type. */
export type Registered =
  | {
      readonly before: Reported | null
      readonly drain: boolean
      readonly replaced: string | null
      readonly gen: number
    }
  | 'full'
/** What arrived on one connection since its last flush; with neither state nor stats only `lastSeen` moves. */
export interface Beat extends Conn {
  readonly state?: { readonly state: ReportedState; readonly gen: number; readonly lastError: string | null }
  readonly stats?: readonly JsonText[]
}
/** `drain`: send the frame if not yet sent. `gen`: the stored generation; above what the socket was told: send config_changed. `replaced`: another conn owns the record; `unknown`: forgotten; these two write nothing. */
export interface BeatAnswer {
  readonly was: 'ok' | 'drain' | 'replaced' | 'unknown'
  readonly gen: number
}

export interface WorkerRow extends Ref {
  readonly conn: string | null
  /** conn is set and its master lives. */
  readonly connected: boolean
  readonly registeredAt: EpochMs
  readonly hardware: JsonText
  /** DRAINING while a drain is set, whatever was reported. */
  readonly state: WorkerState
  /** Last change of state or connection. */
  readonly stateSince: EpochMs
  readonly lastSeen: EpochMs
  readonly lastError: string | null
  readonly draining: boolean
  readonly managedBy: string | null
  /** `config_gen` of the last state frame; null before one. */
  readonly appliedGen: number | null
  readonly config: ConfigRow
  /** The newest stats frame; null before one. */
  readonly stats: JsonText | null
}

export interface Workers {
  /** First: IDLE, defaults, gen 0, or the kept generation + 1 where it was forgotten (D46). Again: hardware, instance and conn renewed; drain rules of D6. */
  register(items: readonly Registration[]): List<Registered>
  beat(items: readonly Beat[]): List<BeatAnswer>
  /** Clears conn only where it is still this one. */
  disconnect(items: readonly Conn[]): Promise<void>
  /** Bound to the connected instance (without one: to the connection); while away to whichever process registers next. */
  drain(refs: readonly Ref[]): List<{ readonly conn: string | null } | 'not_found'>
  manage(items: readonly (Ref & { readonly managedBy: string | null })[]): List<'ok' | 'not_found'>
  /** Record, config, history and stats go; the generation alone is kept (D46). False: not known. */
  forget(refs: readonly Ref[]): List<boolean>
  get(refs: readonly Ref[]): List<WorkerRow | null>
  /** By UTF-8 bytes of the id, those after `after`; limit 1..1000. Ends early at 32 MiB, after one row at least: the caller pages on until it gets none. */
  page(type: string, after: string | null, limit: number): List<WorkerRow>
}

// ── Config ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ConfigRow {
  readonly gen: number
  readonly config: JsonText
  readonly changedAt: EpochMs | null
  readonly actor: string | null
}
export interface HistoryRow {
  readonly gen: number
  readonly ts: EpochMs
  readonly actor: string
  readonly changed: readonly string[]
  readonly config: JsonText
}
export interface ConfigPut extends Ref {
  readonly expectGen: number
  readonly config: JsonText
  readonly changed: readonly string[]
  readonly actor: string
}

export interface Configs {
  /** Compare-and-set: success is always gen = expectGen + 1, and names the connection to notify (D16, D18). */
  put(
    put: ConfigPut,
  ): Promise<{ readonly gen: number; readonly conn: string | null } | { readonly conflict: ConfigRow } | 'not_found'>
  get(refs: readonly Ref[]): List<ConfigRow | null>
  /** Newest first, 50 kept (D39). Secrets are stored; the master masks. */
  history(ref: Ref, limit: number): List<HistoryRow>
  /** gen becomes above + 1 unless it is higher already; config unchanged, no history row (D46). More than 1,000,000 at once: too_far. */
  raise(
    items: readonly (Ref & { readonly above: number })[],
  ): List<{ readonly gen: number; readonly conn: string | null } | 'not_found' | 'too_far'>
}

export interface StatsHistory {
  /** Frames with `ts >= sinceSeconds`, oldest first, the newest `limit` (D10). A ring of 240 a worker, written by workers.beat. */
  read(ref: Ref, sinceSeconds: number, limit: number): Promise<readonly JsonText[] | 'not_found'>
}

// ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `entry`: `{"slot_id":…,"ts":…,"payload":…}`. Ids grow, sort as text and are never reused. */
export interface StreamEntry {
  readonly id: string
  readonly entry: JsonText
}

export interface Streams {
  /** 1..1000 entries. Every push trims to 50,000 entries and to what arrived within 3,600 s. A (producer, seq) seen before changes nothing; seq grows per producer. */
  push(
    type: string,
    producer: string,
    seq: number,
    entries: readonly JsonText[],
  ): Promise<{ readonly length: number; readonly trimmed: number }>
  /** Oldest first, nothing removed; after null: the newest n. `gap`: entries between `after` and the first one are gone (D50). */
  tail(
    type: string,
    after: string | null,
    n: number,
  ): Promise<{ readonly entries: readonly StreamEntry[]; readonly gap: boolean }>
  /** The oldest n. Ends early at 32 MiB, after one entry at least; so does pop. */
  peek(type: string, n: number): List<StreamEntry>
  /** Removes and returns in one step; no undo. Concurrent pops never share an entry. */
  pop(type: string, n: number): List<StreamEntry>
  length(types: readonly string[]): List<number>
}

// ── Tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** 0 high (priority > 0), 1 normal, 2 low. */
export type Tier = 0 | 1 | 2
export type Place = 'pending' | 'in_flight' | 'scheduled' | 'dead'

export interface NewTask {
  readonly id: string
  /** The client chose the id: a known one is a duplicate (D27). */
  readonly ownId: boolean
  readonly key: string | null
  readonly tier: Tier
  readonly ttlMs: number | null
  readonly maxAttempts: number | null
  /** Shown, never decided by. */
  readonly submitted: EpochMs
  /** `{"payload":…,"priority":…,"submitted_at":…}`, in this order. */
  readonly body: JsonText
}
export type Submitted = { readonly queued: true } | { readonly duplicateOf: string } | 'queue_full'
/** `not_issued`: lost as well, under a token that this store has not issued: it went back in time (G26). */
export type LeaseLost = 'lease_lost' | 'not_issued'
export interface LeaseRef {
  readonly id: string
  readonly token: Token
}
export interface Lease extends LeaseRef {
  readonly attempt: number
  readonly maxAttempts: number
  readonly until: EpochMs
  readonly body: JsonText
}
/** `gen`: the generation of the worker's config that `defaultMaxAttempts` was read from. */
export interface ReserveRequest {
  readonly worker: string
  readonly limit: number
  readonly gen: number
  readonly defaultMaxAttempts: number
}
/** Why a worker gets no task: it is not registered, a drain of it is in force (G14), its config has another generation. */
export type Refusal = 'unknown' | 'draining' | 'stale'
/** An empty list is no error. */
export type Reservation = readonly Lease[] | Refusal
/** One answer per request, in order. `nextDue`: when the next scheduled retry is due. */
export interface Reserved {
  readonly answers: readonly Reservation[]
  readonly dropped: number
  readonly nextDue: EpochMs | null
}
/** Delay of a retry: ⌊u · min(capMs, baseMs · factor^attempt)⌋, attempt as before the nack. */
export interface RetryPolicy {
  readonly baseMs: number
  readonly factor: number
  readonly capMs: number
}
/** `u` in [0, 1): the jitter, drawn by the master. */
export interface Nack extends LeaseRef {
  readonly error: string
  readonly retryInMs: number | null
  readonly permanent: boolean
  readonly u: number
}
export interface Swept {
  readonly requeued: number
  readonly promoted: number
  readonly dead: number
  readonly forgottenKeys: number
  readonly more: boolean
}
export interface QueueRow {
  readonly id: string
  readonly attempt: number
  readonly body: JsonText
}
export interface DeadRow extends QueueRow {
  readonly maxAttempts: number
  readonly lastError: string | null
  readonly diedAt: EpochMs
}
/** Running totals since the store was made. */
interface Totals {
  readonly submitted: number
  readonly acked: number
  readonly nacked: number
  readonly died: number
}
export interface Counts {
  readonly tiers: readonly [number, number, number]
  readonly scheduled: number
  readonly inFlight: number
  readonly dead: number
  /** Earliest `submitted` of the tasks next in line in each tier. */
  readonly oldest: EpochMs | null
  readonly totals: Totals
}

/** Lists take 1..500 items (select and replay's n too); queue and dead an n of 1..10000, and stop at 32 MiB. */
export interface Tasks {
  /** Keys are looked at before ids; a batch acts in order. At `maxLength` tasks of the type, dead included: queue_full, nothing recorded. */
  submit(type: string, idempotencyTtlMs: number, tasks: readonly NewTask[], maxLength?: number): List<Submitted>
  /** Promotes due retries, then leases to those workers that may have tasks, as their records say in this very step: high tier first, FIFO within. Drops what outlived its ttl, at most 1,000 a call, and refills. At most 500 leases and about 12 MiB in all. */
  reserve(type: string, visibilityMs: number, requests: readonly ReserveRequest[]): Promise<Reserved>
  /** Repeating an ack that succeeded is ok. */
  ack(type: string, leases: readonly LeaseRef[]): List<'ok' | LeaseLost>
  /** Given back to the front of its tier, attempt unchanged. */
  release(type: string, leases: readonly LeaseRef[]): List<'ok' | LeaseLost>
  nack(type: string, retry: RetryPolicy, items: readonly Nack[]): List<'scheduled' | 'dead' | LeaseLost>
  /** Deadline = max(old, now + visibilityMs). */
  extend(
    type: string,
    items: readonly (LeaseRef & { readonly visibilityMs: number })[],
  ): List<{ readonly until: EpochMs } | LeaseLost>
  /** Passed deadlines back to the front of their tiers in deadline order, or dead at `maxLost` (0: never); due retries promoted; expired keys forgotten. At most `limit` of each. */
  sweep(type: string, maxLost: number, limit: number): Promise<Swept>
  locate(type: string, ids: readonly string[]): List<Place | null>
  /** Pending tasks: high, normal, low, FIFO within; length over all tiers. */
  queue(type: string, n: number): Promise<{ readonly length: number; readonly items: readonly QueueRow[] }>
  /** Oldest death first. */
  dead(type: string, n: number): Promise<{ readonly length: number; readonly items: readonly DeadRow[] }>
  /** Oldest death first, to the back of the normal tier; attempt and lost leases 0, ttl starts anew. Answers how many. */
  replay(type: string, n: number): Promise<number>
  /** All in one step; answers how many. */
  clearDead(type: string): Promise<number>
  select(type: string, action: 'replay' | 'remove', ids: readonly string[]): List<'replayed' | 'removed' | 'not_dead'>
  counts(types: readonly string[]): List<Counts>
}

// ── Pools and primitives ────────────────────────────────────────────────────────────────────────────────────────────

export interface PoolItem {
  readonly id: string
  readonly tags: JsonText
  readonly payload: JsonText
  readonly expires: EpochMs | null
}
export interface PoolRow extends PoolItem {
  readonly inUseUntil: EpochMs | null
}
export interface Claim extends LeaseRef {
  readonly tags: JsonText
  readonly payload: JsonText
  readonly until: EpochMs
}
/** `match`: equality of top-level tags, looking at no more than 1,000 items. */
export interface ClaimRequest {
  readonly owner: string
  readonly n: number
  readonly holdMs: number
  readonly match: Readonly<Record<string, string | number | boolean>>
}

export interface Pools {
  /** Replacing an item keeps its claim. */
  put(pool: string, items: readonly PoolItem[]): List<'created' | 'replaced'>
  /** With a token only while that claim lives. */
  remove(
    pool: string,
    items: readonly { readonly id: string; readonly token: Token | null }[],
  ): List<boolean | 'lease_lost'>
  /** Never used first (by put), then least recently claimed (D30). Ends early at 32 MiB, after one item at least. */
  claim(pool: string, requests: readonly ClaimRequest[]): List<readonly Claim[]>
  extend(
    pool: string,
    items: readonly (LeaseRef & { readonly holdMs: number })[],
  ): List<{ readonly until: EpochMs } | 'lease_lost'>
  release(pool: string, leases: readonly LeaseRef[]): List<'ok' | 'lease_lost'>
  /** Prunes expired items; size counts the others. Oldest put first. */
  list(pool: string, n: number): Promise<{ readonly size: number; readonly items: readonly PoolRow[] }>
  sizes(pools: readonly string[]): List<number>
}

export interface Kv {
  get(namespace: string, keys: readonly string[]): List<JsonText | null>
  /** A set without ttl drops an earlier one. 100,000 keys a namespace, 256 KiB a value. */
  set(
    namespace: string,
    items: readonly { readonly key: string; readonly value: JsonText; readonly ttlMs: number | null }[],
  ): Promise<void>
  delete(namespace: string, keys: readonly string[]): List<boolean>
}

export interface Locks {
  acquire(
    namespace: string,
    items: readonly { readonly name: string; readonly owner: string; readonly holdMs: number }[],
  ): List<{ readonly token: Token; readonly until: EpochMs } | { readonly heldUntil: EpochMs }>
  extend(
    namespace: string,
    items: readonly { readonly name: string; readonly token: Token; readonly holdMs: number }[],
  ): List<{ readonly until: EpochMs } | 'lease_lost'>
  release(
    namespace: string,
    items: readonly { readonly name: string; readonly token: Token }[],
  ): List<'ok' | 'lease_lost'>
}

export interface Counters {
  /** Within ±(2^53−1); beyond it unchanged and out_of_range. */
  add(
    namespace: string,
    items: readonly { readonly name: string; readonly delta: number }[],
  ): List<number | 'out_of_range'>
  /** 0 where it never was. */
  get(namespace: string, names: readonly string[]): List<number>
}

// ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** From one master to the one that holds a socket; loops back where one master is all there is. */
export type Signal =
  | { readonly kind: 'config_changed'; readonly ref: Ref; readonly conn: string; readonly gen: number }
  | { readonly kind: 'drain' | 'replaced'; readonly ref: Ref; readonly conn: string }
  | { readonly kind: 'wake'; readonly type: string }

export interface Bus {
  publish(messages: readonly { readonly topic: string; readonly data: JsonText }[]): Promise<void>
  subscribe(topic: string, on: (data: JsonText) => void): Promise<() => void>
  signal(masterId: string, signal: Signal): Promise<void>
  onSignal(on: (signal: Signal) => void): () => void
}

/** Something that changed, as the event stream tells it. `scope`: the automation type it belongs to. */
export interface NewEvent {
  readonly name: string
  readonly scope: string
  readonly data: JsonText
}
export interface LoggedEvent extends NewEvent {
  readonly id: string
}

export interface EventLog {
  append(events: readonly NewEvent[]): Promise<void>
  /** Those after `after`; `reset` when that point is gone. 10,000 are kept. */
  read(after: string, limit: number): Promise<readonly LoggedEvent[] | 'reset'>
  onAppend(on: (events: readonly LoggedEvent[]) => void): () => void
  /** The id of the newest event that listeners were told: from there on they hear everything. No I/O. */
  newest(): string
}
