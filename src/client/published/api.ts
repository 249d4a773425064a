/**
 * @module client/published/api
 * Defines the interfaces and options of `muster/client`. Durations of tasks are in seconds, as on the wire; points in
 * time are `Date` objects.
 */
import type { Automation } from '../../automation/public.ts'
import type { DeadGroups, LogPage, LogsOptions, Operations } from './fleet-api.ts'

/** Any object; the type of payloads and outputs if the client was created without the type of an automation. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The type of the payload of an automation's tasks; `never` for a continuous automation, which has no tasks. */
export type PayloadOf<A extends Automation> = Parameters<A['run']>[0] extends {
  readonly task: { readonly payload: infer P }
}
  ? P
  : never

/** The type of what an automation emits. */
export type OutputOf<A extends Automation> = Parameters<A['run']>[0] extends {
  readonly emit: (output: infer O) => unknown
}
  ? O
  : never

/** The type of what an automation's runs return; `unknown` if it declares no result. */
export type ResultOf<A extends Automation> = Awaited<ReturnType<A['run']>>

/** Options of a {@link MusterClient}. */
export interface MusterClientOptions {
  /** The URL of the master, http or https; a path prefix is kept. */
  readonly url: string
  /** A token with the permissions that the calls need, or a function that returns it, called for every request. */
  readonly token: string | (() => string | Promise<string>)
  /** How long a request may take including its repetitions, in milliseconds: 1,000 to 600,000; 30,000 by default. */
  readonly timeoutMs?: number
  /**
   * Whether submits are safe to repeat, which costs the store about 230 bytes per task for a minute; true by default.
   * If false, a submit whose response was lost rejects with the outcome `unknown`.
   */
  readonly dedupe?: boolean
  /** Recorded as the actor of every change: 1 to 128 printable ASCII characters. */
  readonly actor?: string
  /** Replaces the `fetch` of the platform, for example to use a proxy. */
  readonly fetch?: typeof globalThis.fetch
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

/** The delay before the retries of one task. */
export interface TaskRetry {
  readonly baseSeconds?: number | undefined
  readonly factor?: number | undefined
  readonly capSeconds?: number | undefined
}

/** What a task may have beside its payload. */
export interface TaskOptions {
  /**
   * The ID of the task, 1 to 256 characters; drawn if omitted. A second submit with it is a duplicate
   * until the task has finished, and its retained outcome has expired.
   */
  readonly id?: string | undefined
  /** An integer, a number from −2^31 to 2^31 − 1. Above 0: high tier; 0, the default: normal; below 0: low. */
  readonly priority?: number | undefined
  /** Drops the task if no worker has reserved it after this time: 1 to 31,536,000 seconds. */
  readonly ttlSeconds?: number | undefined
  /** Delays the task: 0 to 31,536,000 seconds, with fractions. Not together with `notBefore`. */
  readonly delaySeconds?: number | undefined
  /** Delays the task until this time, at most a year ahead. */
  readonly notBefore?: Date | undefined
  /** Overrides `max_attempts` of the worker's config: 1 to 1,000. */
  readonly maxAttempts?: number | undefined
  /**
   * Texts by which people find the task, also visible to its run: at most 16 keys of 1 to 64 lower-case letters, digits
   * and `_.-`, each with at most 256 characters.
   */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /**
   * Replaces the automation's delay before a retry, which is random up to `baseSeconds · factor^failures`, at most
   * `capSeconds`. Defaults: 1, 2 and 300. Seconds: above 0, up to 86,400. Factor: 1 to 1,000.
   */
  readonly retry?: TaskRetry | undefined
  /** The trace that the task belongs to, as the header of W3C: `00-…-…-01`. */
  readonly traceparent?: string | undefined
  /** More about the trace, at most 512 characters. Only together with `traceparent`. */
  readonly tracestate?: string | undefined
  /** Names what the task is for, 1 to 256 characters: a second submit with the same key queues nothing. */
  readonly idempotencyKey?: string | undefined
  /** How long `idempotencyKey` is remembered, in seconds; a day by default, which the master may bound otherwise. */
  readonly idempotencyTtlSeconds?: number | undefined
  /**
   * Lets at most one task with this key wait, 1 to 256 characters: a second submit while one does is a duplicate, or
   * replaces it.
   */
  readonly uniqueKey?: string | undefined
  /** Until when a task with `uniqueKey` makes others duplicates: it has `started`, the default, or `finished`. */
  readonly uniqueUntil?: 'started' | 'finished' | undefined
  /**
   * What this submit does if another task with `uniqueKey` waits: `keep`, the default, queues nothing; `replace`
   * cancels that task and queues this one. A task that runs is never replaced.
   */
  readonly onConflict?: 'keep' | 'replace' | undefined
  /**
   * The group of the task, 1 to 256 characters, for an automation with `groups`: its groups take turns, and each has
   * the automation's bounds.
   */
  readonly groupKey?: string | undefined
  /** Keeps the result of the task for this time after its end: 0, the default, to 604,800 seconds, with fractions. */
  readonly retainSeconds?: number | undefined
}

/** A task of `submitMany`. */
export interface NewTask<Payload> extends TaskOptions {
  /** Has to match the payload schema of the automation. */
  readonly payload: Payload
}

/** A task that is stored. */
export interface SubmittedTask<Result = unknown> {
  /** The ID of the task; that of the first task if this one is a duplicate. */
  readonly id: string
  /** Whether another task has the same ID, idempotency key or unique key, so that nothing was queued. */
  readonly isDuplicate: boolean
  /** The ID of the task that this one replaced; absent if none. */
  readonly replacedId?: string
  /**
   * Waits for the end of the task, which needs `retainSeconds`. Aborting the signal ends the wait, not the task.
   * @returns what the run of the task returned; null if it returned nothing.
   * @throws {TaskFailed} when the task died, expired or is unknown, or its result was too large.
   */
  result(options?: CallOptions): Promise<Result>
}

/** What became of one task of `submitMany`. */
export type SubmitOutcome<Result = unknown> =
  | { readonly kind: 'submitted'; readonly task: SubmittedTask<Result> }
  | { readonly kind: 'failed'; readonly error: unknown }

/** A failed run of a task, or a lease that its worker lost. */
export interface FailedAttempt {
  /** Failed runs of the task, this one included. */
  readonly attempt: number
  readonly at: Date
  readonly kind: 'failed' | 'lease_lost'
  /** At most 256 characters; null for a lost lease. */
  readonly error: string | null
  readonly workerId: string
}

/** Where a task is. */
export interface TaskState {
  readonly id: string
  readonly place: 'pending' | 'in_flight' | 'scheduled' | 'dead' | 'done' | 'expired' | 'cancelled'
  /** The newest five, oldest first; empty if none. */
  readonly attempts: readonly FailedAttempt[]
  /** What a run of the task reported last, any JSON; absent if none did, and after the end of the task. */
  readonly progress?: unknown
  /** When `progress` was reported; absent like it. */
  readonly progressAt?: Date
}

/** A task that was found by its ID alone. */
export interface FoundTask extends TaskState {
  /** The automation type. */
  readonly type: string
}

/**
 * What became of a task that was to be cancelled. `dead`: it has failed for good and stays a dead letter. `done` and
 * `expired`: it has ended before. `not_found`: it never existed, or has ended before and was not retained.
 */
export interface CancelledTask {
  readonly id: string
  readonly outcome: 'cancelled' | 'dead' | 'done' | 'expired' | 'not_found'
}

/** A pending task. */
export interface QueuedTask<Payload> {
  readonly id: string
  readonly payload: Payload
  /** Failed runs so far. */
  readonly attempt: number
  /** An integer, a number from −2^31 to 2^31 − 1; above 0: high tier; 0: normal; below 0: low. */
  readonly priority: number
  readonly submittedAt: Date
  /** The time until which the task was delayed; null if it was not. */
  readonly notBefore: Date | null
  /** Empty if it has none. */
  readonly labels: Readonly<Record<string, string>>
}

/** A task that failed for good. */
export interface DeadTask<Payload> extends QueuedTask<Payload> {
  readonly maxAttempts: number
  /** The error of the last attempt; null if the workers disappeared. */
  readonly lastError: string | null
  readonly diedAt: Date
}

/** A task of `listTasks`. */
export interface ListedTask<Payload> extends QueuedTask<Payload> {
  readonly place: 'pending' | 'in_flight' | 'scheduled' | 'dead'
  /** The worker that runs it; null if none does. */
  readonly workerId: string | null
  /** When the lease of a task in flight ends, a scheduled task is due, or a dead task died; null of a pending one. */
  readonly at: Date | null
  /** The last error of a dead task; null if the workers disappeared, and in other places. */
  readonly lastError: string | null
}

/** Which tasks `listTasks` yields: all if every field is omitted. */
export interface ListOptions extends CallOptions {
  readonly place?: ListedTask<unknown>['place'] | undefined
  /** A task has to have all of these. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Has to occur in the ID or the JSON of a task, ignoring case: 1 to 256 characters. */
  readonly text?: string | undefined
}

/** The first entries of a list, and its whole length. */
export interface Page<Item> {
  readonly length: number
  readonly items: readonly Item[]
}

/** A pause of a queue, in which no task is leased. */
export interface Pause {
  readonly note: string | null
  /** Who paused the queue. */
  readonly actor: string
  readonly since: Date
  /** When the pause ends by itself; null if only a resume ends it. */
  readonly until: Date | null
}

/** The first tasks of a queue, and its whole length. */
export interface QueuePage<Payload> extends Page<QueuedTask<Payload>> {
  /** Null if the queue is not paused. */
  readonly paused: Pause | null
}

/** Options of a call that returns a page. */
export interface PageOptions extends CallOptions {
  /** At most this many items: 1 to 10,000. */
  readonly limit?: number | undefined
}

/** One entry of an output stream. */
export interface OutputEntry<Output> {
  readonly gap: false
  /** The cursor to continue after. */
  readonly id: string
  readonly slotId: number
  /** The worker that emitted it; absent from entries of earlier releases. */
  readonly workerId?: string
  /** The task whose run emitted it; absent if there is none, or it is not known. */
  readonly taskId?: string
  readonly emittedAt: Date
  readonly payload: Output
}

/** Entries before the next one were removed before they could be read. */
export interface OutputGap {
  readonly gap: true
}

/** Options of `outputs`. */
export interface OutputsOptions {
  /** ID of the last entry that was read, to continue after it; only new entries are yielded if omitted. */
  readonly after?: string | undefined
  /** Without `after`: the number of existing entries to start with, 0 to 10,000; 0 by default. */
  readonly last?: number | undefined
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

/** What happened to a dead task that was selected by its ID. */
export interface SelectedTask {
  readonly id: string
  readonly outcome: 'replayed' | 'removed' | 'not_dead'
}

/** The dead-letter queue of one automation type. No call that changes it is repeated, except `deleteGroup`. */
export interface DeadLetters<Payload> extends DeadGroups<Payload> {
  /** Returns the oldest dead tasks; 50 if `limit` is omitted. */
  list(options?: PageOptions): Promise<Page<DeadTask<Payload>>>
  /**
   * Queues these dead tasks again.
   * @param ids 1 to 1,000 IDs.
   * @returns one outcome per ID, in order.
   */
  replay(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  /**
   * Queues the oldest dead tasks again.
   * @param limit At most this many, 1 to 10,000.
   * @returns how many were queued.
   */
  replayOldest(limit: number, options?: CallOptions): Promise<number>
  /**
   * Removes these dead tasks permanently.
   * @param ids 1 to 1,000 IDs.
   * @returns one outcome per ID, in order.
   */
  delete(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  /** Removes all dead tasks permanently. @returns how many were removed. */
  deleteAll(options?: CallOptions): Promise<number>
}

/**
 * The tasks and outputs of one automation type. Calls reject with a {@link MusterError}; `result` also with a
 * {@link TaskFailed}.
 */
export interface AutomationClient<Payload, Output, Result = unknown> {
  readonly type: string
  readonly deadLetters: DeadLetters<Payload>
  readonly operations: Operations
  /**
   * Submits a task. Submits of one turn of the event loop share a request, and so do those that wait while two requests
   * are under way. Aborting the signal takes a waiting task out of its request; a task that was already sent may be
   * queued.
   * @param payload Has to match the payload schema of the automation.
   * @returns the ID of the task, and whether it was queued.
   */
  submit(payload: Payload, options?: TaskOptions & CallOptions): Promise<SubmittedTask<Result>>
  /**
   * Submits any number of tasks. Never rejects.
   * @param tasks The tasks, in the order in which they are queued.
   * @returns one outcome per task, in order.
   */
  submitMany(tasks: readonly NewTask<Payload>[], options?: CallOptions): Promise<readonly SubmitOutcome<Result>[]>
  /**
   * Waits for the end of a task that another program may have submitted. Waits of one type share a request.
   * @param id The ID of the task.
   * @returns what `result` of the submitted task returns.
   */
  result(id: string, options?: CallOptions): Promise<Result>
  /**
   * Returns where a task is. Rejects with NOT_FOUND when it has finished without a retained outcome, was cancelled, or
   * never existed.
   */
  getTask(id: string, options?: CallOptions): Promise<TaskState>
  /**
   * Yields the tasks that are stored, in the order pending, in flight, scheduled, dead. It reads them page by page, so
   * a task that moves meanwhile may be yielded twice, or not at all. Aborting the signal makes it throw the reason.
   */
  listTasks(options?: ListOptions): AsyncGenerator<ListedTask<Payload>, void, undefined>
  /**
   * Cancels tasks that no worker has finished. A running task is stopped when its worker extends the lease the next
   * time, and its result does not count. Never repeated: tasks of a lost response may be cancelled.
   * @param ids 1 to 1,000 IDs.
   * @returns one outcome per ID, in order.
   */
  cancel(ids: readonly string[], options?: CallOptions): Promise<readonly CancelledTask[]>
  /** Returns the length of the queue, its pause and its first tasks; 20 if `limit` is omitted. */
  queue(options?: PageOptions): Promise<QueuePage<Payload>>
  /**
   * Yields the outputs, oldest first, until the signal aborts. Nothing is removed. While the master is unavailable, it
   * waits and continues.
   */
  outputs(options?: OutputsOptions): AsyncGenerator<OutputEntry<Output> | OutputGap, void, undefined>
  /**
   * Returns the oldest outputs without removing them.
   * @param n At most this many, 1 to 10,000.
   */
  peek(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]>
  /**
   * Removes the oldest outputs. Never repeated: those of a lost response are lost.
   * @param n At most this many, 1 to 10,000.
   * @returns the removed outputs, oldest first.
   */
  pop(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]>
  /**
   * Returns log entries that a connected worker keeps in its memory, oldest first. Rejects with NOT_FOUND when the
   * worker is unknown, offline, or of a release without this feature.
   * @param workerId The ID of the worker.
   */
  workerLogs(workerId: string, options?: LogsOptions): Promise<LogPage>
}
