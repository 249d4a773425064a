/**
 * @module storage/contract/tasks
 * Defines the task queue of each automation type: submit, lease, settle and retry. dead-letters.ts and dead-groups.ts
 * define its dead-letter queue, pauses.ts its pause, cancels.ts how tasks are cancelled, outcomes.ts what is retained
 * of finished tasks, task-lists.ts how they are listed, task-groups.ts in which groups they are leased.
 *
 *   scheduled ◀──submit with a later time
 *
 *   pending ──reserve──▶ in flight ──ack──▶ removed
 *      ▲                    ├─ release; sweep, deadline passed ──▶ pending
 *      │                    ├─ nack, attempts left ──▶ scheduled ──due──▶ pending
 *      │                    └─ nack, none left or permanent; lease lost too often ──▶ dead
 *      └──────────────────────────── replay ───────────────────────────────┘
 *
 * `cancel` removes a task from pending, in flight or scheduled.
 *
 * Delivery is at least once. A reserved task is leased: once its visibility deadline has passed, `sweep` makes it
 * pending again, while a worker that was suspended meanwhile still works on it. Each lease therefore has a token that
 * is greater than all before it (a fencing token), and only the newest token can settle the task (D24).
 */
import type { JsonText } from '../../protocol/index.ts'
import type { RetryPolicy } from '../../runtime/index.ts'
import type { EpochMs, ExtendHoldResult, LeaseRef, PerItem } from './common.ts'
import type { Cancels } from './cancels.ts'
import type { DeadGroups } from './dead-groups.ts'
import type { Replays } from './replays.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { DoneTask, Outcomes } from './outcomes.ts'
import type { Pause, Pauses } from './pauses.ts'
import type { GroupTotals, TaskGroups } from './task-groups.ts'
import type { TaskLists } from './task-lists.ts'
import type { UniqueKey } from './unique-keys.ts'

/** 0 is high (priority above 0), 1 normal, 2 low. */
export type Tier = 0 | 1 | 2

/** Where a task is. A task that was acknowledged, removed or dropped is nowhere. */
export type TaskPlace = 'pending' | 'in_flight' | 'scheduled' | 'dead'

/** A task as it is submitted. */
export interface NewTask {
  /** 1 to 256 characters, unique within the type. */
  readonly id: string
  /** The client chose the id. A task with this id that is still stored then makes the submit a duplicate (D27). */
  readonly ownId: boolean
  /** Idempotency key, 1 to 256 characters; `null` for none. */
  readonly key: string | null
  /** The window of the key if the task has its own, 1,000 ms to one year (D105). That of the call if omitted. */
  readonly keyTtlMs?: number
  readonly tier: Tier
  /** The task is scheduled until then (D104). If omitted or not in the future, it is pending immediately. */
  readonly notBeforeMs?: EpochMs
  /**
   * The task is dropped if it is still pending after this time, 1,000 ms to one year; `null`: never. It counts from the
   * submit, or from `notBeforeMs` if that is later.
   */
  readonly ttlMs: number | null
  /** 1 to 1,000; `null`: that of the worker that reserves the task (D26). */
  readonly maxAttempts: number | null
  /** The master's time of the submit. It is shown, and nothing is decided by it. */
  readonly submittedAtMs: EpochMs
  /**
   * How long the outcome of the task is retained after its end, 1 ms to one week (D110); not retained if omitted. The
   * body has the same time in seconds.
   */
  readonly retainMs?: number
  /** None if omitted. The body has the key. */
  readonly unique?: UniqueKey
  /** 1 to 256 characters; in the group `null` if omitted. The body has the name (D119). */
  readonly group?: string
  /**
   * `{["retain_seconds":…,]["unique_key":…,]["group_key":…,][extras,]"payload":…,"priority":…[,"not_before":…],
   * "submitted_at":…}`, with the fields in this order. The extras are labels, retry policy and trace (D113).
   */
  readonly body: JsonText
}

/**
 * The result of submitting one task. `queued`: it is stored; `replaced` is the id of the task that it replaced, omitted
 * if none. `duplicate`: nothing was queued; `duplicateOf` is the id of the task that was submitted first under the same
 * key or id, or that has its unique key. `queue_full`: the type is at `maxLength`; nothing was
 * stored, also no key.
 */
export type SubmitItemResult =
  | { readonly kind: 'queued'; readonly replaced?: string }
  | { readonly kind: 'duplicate'; readonly duplicateOf: string }
  | { readonly kind: 'queue_full' }

/**
 * The token is not that of the current lease: the task was settled, or leased again, or is unknown; nothing changed.
 * `not_issued` is the special case of a token above all that this store has issued, so the store was restored to an
 * earlier state (G26).
 */
export type LeaseLost = 'lease_lost' | 'not_issued'

/** The result of extending one lease. `expiresAtMs` is the deadline that now applies; the others are in `LeaseLost`. */
export type ExtendLeaseResult = ExtendHoldResult | { readonly kind: 'not_issued' }

/** One leased task. */
export interface Lease extends LeaseRef {
  /** Failed runs so far: 0 for the first run. */
  readonly attempt: number
  /** A nack that makes `attempt` reach this number sends the task to the dead-letter queue. */
  readonly maxAttempts: number
  /** Visibility deadline: from this time on a sweep takes the task back. */
  readonly expiresAtMs: EpochMs
  readonly body: JsonText
  /** The outcome of the task will be retained, so its ack may carry a result. Omitted otherwise. */
  readonly isRetained?: true
  /** The newest progress of an earlier run. Omitted if there is none. */
  readonly progress?: JsonText
}

/** A lease to extend. */
export interface ExtendItem extends LeaseRef {
  /** 1,000 to 43,200,000 ms. */
  readonly visibilityMs: number
  /** Replaces the progress of the task; at most 1 KiB. It stays as it is if omitted. */
  readonly progress?: JsonText
}

/** One worker that waits for tasks. */
export interface ReserveRequest {
  /** Worker id. */
  readonly worker: string
  /** 1 to 10,000; a whole call leases at most 500 tasks. */
  readonly limit: number
  /** The generation of the worker's config from which the master read `defaultMaxAttempts`. */
  readonly gen: number
  /** For tasks without `maxAttempts`, 1 to 1,000. */
  readonly defaultMaxAttempts: number
}

/**
 * Why a worker gets no task. `unknown`: it is not registered. `draining`: a drain is set (G14). `stale`: its config has
 * another generation than the request; read the config again.
 */
export type ReserveRefusal = 'unknown' | 'draining' | 'stale'

/**
 * The result of one request. `leased`: the tasks of this worker; an empty list means that no task was left for it.
 * `refused`: the worker may not reserve.
 */
export type Reservation =
  | { readonly kind: 'leased'; readonly leases: readonly Lease[] }
  | { readonly kind: 'refused'; readonly reason: ReserveRefusal }

/** The result of one reserve. */
export interface ReserveResult {
  /** One per request, in order. */
  readonly results: readonly Reservation[]
  /** Number of tasks that were dropped because their ttl had passed. */
  readonly dropped: number
  /**
   * When the next scheduled task is due, the rate of a group permits the next start, or the pause ends that kept
   * pending tasks from these workers, whichever is earliest; `null` if none of it happens by time.
   */
  readonly nextDueAtMs: EpochMs | null
}

export type { RetryPolicy }

/** One failed run. */
export interface NackItem extends LeaseRef {
  /** Cut at 4,096 characters. */
  readonly error: string
  /** Delay of the retry, 0 to 86,400,000 ms; `null`: by the retry policy. */
  readonly retryInMs: number | null
  /** Sends the task to the dead-letter queue, whatever attempts are left (D55). */
  readonly permanent: boolean
  /** Random factor of the delay in [0, 1), drawn by the master. */
  readonly jitter: number
}

/** What one sweep did. */
export interface SweepResult {
  /** Number of tasks whose lease had expired and that are pending again. */
  readonly requeued: number
  /** Number of scheduled tasks that were due and are pending. */
  readonly promoted: number
  /** Number of tasks that lost their lease too often and are dead. */
  readonly dead: number
  /** Number of idempotency keys whose window had ended. */
  readonly forgottenKeys: number
  /** More is due: call again. */
  readonly more: boolean
}

/** A task as it is listed, without its body. */
export interface QueueTicket {
  readonly id: string
  readonly attempt: number
}
/** A task as it is listed. */
export interface QueueRow extends QueueTicket {
  readonly body: JsonText
}

/** The first pending tasks. */
export interface QueuePage {
  /** Pending tasks of all tiers. */
  readonly length: number
  readonly items: readonly QueueRow[]
  /**
   * The tasks that follow `items`, up to `n` in all, whose bodies exceeded `bytes`; read them with `bodies`. Omitted if
   * none.
   */
  readonly rest?: readonly QueueTicket[]
  /** Omitted if the queue is not paused. */
  readonly paused?: Pause
}

/** Running totals since the store was created. */
interface Totals {
  /** Number of tasks that were queued by `submit`. */
  readonly submitted: number
  /** Number of tasks that were acknowledged. */
  readonly acked: number
  /** Number of nacks. */
  readonly nacked: number
  /** Number of tasks that were moved to the dead-letter queue. */
  readonly died: number
  /** Number of tasks that were cancelled. Omitted while it is 0. */
  readonly cancelled?: number
}

/** The tasks of one type, counted by place. All zero for an unknown type. */
export interface Counts {
  /** Pending tasks by tier: high, normal, low. */
  readonly tiers: readonly [number, number, number]
  /** Number of tasks that wait for a retry, or for the time before which they may not run. */
  readonly scheduled: number
  /** Number of leased tasks. */
  readonly inFlight: number
  /** Number of tasks in the dead-letter queue. */
  readonly dead: number
  /** The earliest `submittedAtMs` among the first pending task of each tier; `null` if nothing is pending. */
  readonly oldestSubmittedAtMs: EpochMs | null
  readonly totals: Totals
  /** Omitted if the queue is not paused. */
  readonly paused?: Pause
  /** Omitted for a type without a group policy, and for one that was never used. */
  readonly groups?: GroupTotals
}

/**
 * Task queues. Lists of items have 1 to 500 entries; `bytes` bounds the bodies of one result, 1 to 32 MiB, 32 MiB if
 * omitted: a result ends early at it, but has at least one task if there is one (D82). A type that was never used is
 * empty. Every method may reject with STORAGE_UNAVAILABLE; those that change something state whether a retry is safe.
 */
export interface Tasks extends DeadLetters, DeadGroups, Replays, Outcomes, Pauses, Cancels, TaskLists, TaskGroups {
  /**
   * Queues tasks at the back of their tiers, those with a later `notBeforeMs` when they are due. Items act in order: a
   * later item sees an earlier one.
   *
   * The key of a task is checked before its id, and its id before its unique key. A key is recorded for its window also
   * if its own task was a duplicate by id or unique key; a repeat does not prolong the window. A replacing task needs
   * no place within `maxLength`.
   *
   * @param type The automation type, 1 to 256 characters.
   * @param idempotencyTtlMs The window of new keys without their own, 1,000 ms to one year.
   * @param tasks 1 to 500 tasks.
   * @param maxLength The most tasks of the type, dead ones included, 0 or more; unbounded if omitted. Duplicates are
   *   recognised even at the bound.
   * @returns `queued`, `duplicate` or `queue_full` for each task.
   * @throws {FleetError} STORAGE_FULL. Nothing was queued.
   *   STORAGE_UNAVAILABLE. Safe to retry for tasks with a key. Without one, a retry with the same ids does not
   *   duplicate a task that is still stored, but queues one again that was acknowledged meanwhile.
   * @see D27, D54, D80, D118
   */
  submit(
    type: string,
    idempotencyTtlMs: number,
    tasks: readonly NewTask[],
    maxLength?: number,
  ): PerItem<SubmitItemResult>
  /**
   * Leases pending tasks to waiting workers. Higher tiers come first; within a tier, first in, first out. A type with a
   * group policy leases them in turns of the groups (task-groups.ts).
   *
   * Due tasks are made pending first, at most 1,000 per call. While the queue is paused, nothing is leased or dropped.
   * Tasks whose ttl has passed are dropped, at most 1,000 per call. Whether a worker may reserve is read from its
   * record in the same step. A call leases at most 500 tasks and about 12 MiB of bodies; the first task is leased
   * whatever its size. A dropped task that is retained leaves the outcome `expired` in the same step (G29).
   *
   * @param type The automation type.
   * @param visibilityMs How long a leased task stays hidden, 1,000 to 43,200,000 ms.
   * @param requests 1 to 500, one per waiting worker, served in order. The tasks of a refused worker go to the others.
   * @param maxOutcomes Maximum number of outcomes of the type, as for `ack`.
   * @returns one result per request, in the same order: the leases, or the reason why the worker may not reserve.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry: leases that were never delivered expire.
   * @see D24, D25, D26, D28, D106
   */
  reserve(
    type: string,
    visibilityMs: number,
    requests: readonly ReserveRequest[],
    maxOutcomes?: number,
  ): Promise<ReserveResult>
  /**
   * Removes tasks that are done. A lease past its deadline still counts until a sweep has taken the task.
   *
   * A retained task leaves the outcome `done` in the same step (G29), unless the store is nearly full.
   *
   * @param type The automation type.
   * @param leases 1 to 500 leases, with the results of the runs.
   * @param maxOutcomes Maximum number of outcomes of the type, 0 or more; 100,000 if omitted. Beyond it, and beyond
   *   64 MiB, the outcomes nearest to their expiry are evicted.
   * @returns `ok` also if the same token acknowledged the same task before; its result is ignored then.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D24, D80, D110
   */
  ack(type: string, leases: readonly DoneTask[], maxOutcomes?: number): PerItem<'ok' | LeaseLost>
  /**
   * Returns tasks to the front of their tiers, in the given order. Attempt and lost leases stay unchanged.
   *
   * @param type The automation type.
   * @param leases 1 to 500 leases.
   * @returns `ok`, or why the lease does not count any more.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `lease_lost`.
   */
  release(type: string, leases: readonly LeaseRef[]): PerItem<'ok' | LeaseLost>
  /**
   * Records failed runs: `attempt` grows by one, and the task is scheduled for a retry or dead.
   *
   * @param type The automation type.
   * @param retry The delay of retries for items without `retryInMs`.
   * @param items 1 to 500 failed runs.
   * @returns `dead` if the failure is permanent or `attempt` has reached `maxAttempts`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `lease_lost`.
   * @see D25, D26, D55
   */
  nack(type: string, retry: RetryPolicy, items: readonly NackItem[]): PerItem<'scheduled' | 'dead' | LeaseLost>
  /**
   * Moves visibility deadlines to now + `visibilityMs`, never to an earlier time.
   *
   * @param type The automation type.
   * The progress of an item is stored in the same step, only if its lease counts.
   *
   * @param items 1 to 500 leases; of two with the same task, the later progress counts.
   * @returns the deadline that now applies, or why the lease does not count any more.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  extend(type: string, items: readonly ExtendItem[]): PerItem<ExtendLeaseResult>
  /**
   * Does what is due by time. Tasks whose deadline has passed return to the front of their tiers in the order of their
   * deadlines, or die. Due tasks go to the back of their tiers in due order. Expired idempotency keys and outcomes are
   * forgotten.
   *
   * @param type The automation type.
   * @param maxLost A task that loses its lease this many times is dead; 0: never.
   * @param limit At most this many of each, 1 to 10,000, and at most 500 outcomes; earliest first.
   * @returns what was done; all zero if nothing was due.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D26, D28
   */
  sweep(type: string, maxLost: number, limit: number): Promise<SweepResult>
  /**
   * Finds tasks.
   *
   * @param type The automation type.
   * @param ids 1 to 500 task ids.
   * @returns `null` for a task that is not stored.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  locate(type: string, ids: readonly string[]): PerItem<TaskPlace | null>
  /**
   * Lists pending tasks in the order in which they will be leased: high, normal, low; within a tier first in, first
   * out. The whole list is read in one step.
   *
   * @param type The automation type.
   * @param n At most this many tasks, 1 to 10,000.
   * @param bytes Ends `items` early, 1 to 32 MiB; 32 MiB if omitted. The tasks behind it are in `rest`.
   * @returns the first pending tasks; `items` is empty if nothing is pending.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D82
   */
  queue(type: string, n: number, bytes?: number): Promise<QueuePage>
  /**
   * Reads the bodies of tasks that are not dead.
   *
   * @param type The automation type.
   * @param ids 1 to 500 task ids.
   * @param bytes Ends the list early, 1 to 32 MiB; 32 MiB if omitted.
   * @returns one per id, in order; `null` if the task is dead or not stored. The list is shorter than `ids` if it ended
   *   early at `bytes`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  bodies(type: string, ids: readonly string[], bytes?: number): Promise<readonly (JsonText | null)[]>
  /**
   * Counts the tasks of types.
   *
   * @param types Automation types.
   * @returns one per type, in order.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  counts(types: readonly string[]): PerItem<Counts>
}
