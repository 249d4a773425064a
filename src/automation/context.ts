/**
 * @module automation/context
 * Defines the context that `run` of an automation receives. Its functions do not use `this`, so they may be
 * destructured. Durations are in seconds, except for `sleep` and `now`, which count milliseconds as JavaScript does.
 */
import type { Static, TSchema } from 'typebox'
import type { BaseConfig } from '../protocol/index.ts'

/** The TypeScript type of a schema: exact for TypeBox, `Plain` for a hand-written JSON Schema. */
export type Typed<S, Plain = unknown> = S extends { '~kind': string } ? Static<S & TSchema> : Plain

/** Schemas of a pool: the payload of its items, and the tags that `claim` matches. */
export interface PoolSchemas {
  readonly payload: object
  readonly tags?: object
}
/** The pools that an automation declares, by name. */
export type Pools = Readonly<Record<string, PoolSchemas>>

/**
 * Why a run has to stop; the `reason` of the SlotStopped with which its signal aborts.
 *
 *   drain       an admin drains the worker           disabled   the config was disabled
 *   slots       the config has fewer slots           recycle    the slot reached the age `recycle_seconds`
 *   shutdown    the worker process is stopping       lease_lost the task may have been given to another worker
 */
export type StopReason = 'drain' | 'disabled' | 'slots' | 'recycle' | 'shutdown' | 'lease_lost'

/** The log of a run. Lines carry the worker, slot and task; secrets of the config are masked. */
export interface SlotLog {
  /**
   * Logs what helps to find a fault. Shown with `SVC_LOG_LEVEL=debug`.
   *
   * @param message One sentence.
   * @param fields Further fields of the line; none if omitted. An `error` is logged with its message.
   */
  readonly debug: (message: string, fields?: object) => void
  /**
   * Logs an ordinary event.
   *
   * @param message One sentence.
   * @param fields Further fields of the line; none if omitted.
   */
  readonly info: (message: string, fields?: object) => void
  /**
   * Logs a problem that the run can handle.
   *
   * @param message One sentence.
   * @param fields Further fields of the line; none if omitted.
   */
  readonly warn: (message: string, fields?: object) => void
  /**
   * Logs a problem that needs attention. It does not end the run: throw an error for that.
   *
   * @param message One sentence.
   * @param fields Further fields of the line; none if omitted.
   */
  readonly error: (message: string, fields?: object) => void
}

/**
 * Metrics of an automation, shown by the dashboard and in the worker's statistics. The first use of a name creates it.
 *
 * A worker keeps 500 metrics of all kinds. An invalid name or value, and every further metric, is dropped and logged
 * once; it never fails a run.
 *
 * @see D55
 */
export interface Metrics {
  /**
   * Creates a counter. The worker reports the sum over all its slots, ended ones included.
   *
   * @param name 1 to 256 characters without control characters.
   * @returns `add` increases the counter by `n`, a finite number of 0 or more; 1 if omitted.
   */
  readonly counter: (name: string) => { add: (n?: number) => void }
  /**
   * Creates a gauge. The worker reports the value that any slot set last.
   *
   * @param name 1 to 256 characters without control characters.
   * @returns `set` stores a finite number.
   */
  readonly gauge: (name: string) => { set: (value: number) => void }
  /**
   * Creates a histogram. The worker reports p50, p95, p99 and the count over all values since it started.
   *
   * @param name 1 to 256 characters without control characters.
   * @returns `record` adds a finite number of 0 or more, accurate to three digits.
   */
  readonly histogram: (name: string) => { record: (value: number) => void }
}

/** An acquired lock. It is renewed until `release()` is called or its `await using` block ends. */
export interface Lock extends AsyncDisposable {
  /** Fencing token: grows with every acquisition of this name. */
  readonly token: number
  /**
   * Extends the lock by `holdSeconds` from now. Renewals use this time from then on.
   *
   * @param options `holdSeconds`: 1 to 43,200.
   * @throws {RangeError} when `holdSeconds` is out of range.
   * @throws {LeaseLost} when the lock has already expired or was released.
   * @throws an error with the code `unavailable` when the master does not respond. The lock may still be held; safe to
   *   retry.
   */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  /**
   * Releases the lock; a second call does nothing.
   *
   * @throws {LeaseLost} when the lock has already expired.
   */
  readonly release: () => Promise<void>
}

/**
 * An exclusive claim of a pool item. It is renewed until `release()`, `remove()` or the end of its `await using` block.
 */
export interface PoolLease<P, T> extends AsyncDisposable {
  readonly id: string
  readonly payload: P
  readonly tags: T
  /**
   * Extends the claim by `holdSeconds` from now. Renewals use this time from then on.
   *
   * @param options `holdSeconds`: 1 to 43,200.
   * @throws {RangeError} when `holdSeconds` is out of range.
   * @throws {LeaseLost} when the claim has already expired, or the item was released or removed.
   * @throws an error with the code `unavailable` when the master does not respond. The item may still be claimed; safe
   *   to retry.
   */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  /**
   * Makes the item free again; a second call does nothing.
   *
   * @throws {LeaseLost} when the claim has already expired.
   */
  readonly release: () => Promise<void>
  /**
   * Deletes the item from the pool. Does nothing after `release`.
   *
   * @throws {LeaseLost} when the claim has already expired.
   */
  readonly remove: () => Promise<void>
}

type PlainObject = Readonly<Record<string, unknown>>
type PayloadOf<S> = S extends { payload: infer P } ? Typed<P, PlainObject> : PlainObject
type TagsOf<S> = S extends { tags: infer T extends object } ? Typed<T, PlainObject> : PlainObject

/** An item to put into a pool. */
export interface PoolItem<P, T> {
  /** 1 to 256 characters, unique within the pool. */
  readonly id: string
  readonly payload: P
  /** The values that a claim can match; no tags if absent. */
  readonly tags?: T
  /** When the item is removed, claimed or not, in unix seconds; null or absent: never. */
  readonly expiresAt?: number | null
}

/** A pool of items shared by all workers. `S` is the {@link PoolSchemas} of its declaration. */
export interface Pool<S> {
  /**
   * Adds items, and replaces those with the same ID, in calls of 1,000 items.
   *
   * @param items Any number of items; an empty list does nothing. A pool holds at most 100,000.
   * @throws {TypeError} when an item does not match the schemas of the pool; nothing is added then.
   * @throws an error with the code `unavailable` when the master does not respond or the pool is full. Some of the
   *   items may be stored; safe to retry.
   */
  readonly put: (items: readonly PoolItem<PayloadOf<S>, TagsOf<S>>[]) => Promise<void>
  /**
   * Claims the free item that was used least recently and has all tags of `match`. Does not wait for an item.
   *
   * @param options `holdSeconds`, 1 to 43,200: how long the claim lasts after the last renewal. `match`: the tags that
   *   the item must have; any item if omitted.
   * @returns null when no such item is free.
   * @throws {RangeError} when `holdSeconds` is out of range.
   * @throws an error with the code `unavailable` when the master does not respond. A retry claims another item; the
   *   first one may stay claimed until its hold ends.
   * @see D30
   */
  readonly claim: (options: {
    holdSeconds: number
    match?: Readonly<Record<string, string | number | boolean>>
  }) => Promise<PoolLease<PayloadOf<S>, TagsOf<S>> | null>
}

/**
 * What every run receives. A call after the end of its run is rejected.
 *
 * The calls of `kv`, `lock`, `counter`, `pool` and `bus` go to the master. When it rejects one, or does not respond,
 * they throw an error with a `code`. With the code `unavailable`, the call may have taken effect: repeat `get`, `set`,
 * `delete` and `put` freely, but not `counter.add`.
 */
export interface Context<C = object, O = object, P extends Pools = Pools> {
  /**
   * The frozen config. A batch run keeps the config that was active when its task was reserved. In a continuous run,
   * each read of `context.config` returns the newest applied config.
   */
  readonly config: Readonly<BaseConfig & Typed<C, Record<string, unknown>>>
  /** The number of the slot within its worker, 0 or more. */
  readonly slotId: number
  /** Aborts when the run has to stop; `signal.reason` is a SlotStopped. */
  readonly signal: AbortSignal
  /**
   * Emits an output into the stream of the automation type. Resolves when the output is in the buffer of the worker,
   * which is before the master has stored it.
   *
   * @param output An object that matches the output schema.
   * @throws {TypeError} when the output does not match the output schema.
   * @throws {RangeError} when the output is too large for a frame (1 MiB).
   */
  readonly emit: (output: Typed<O, Readonly<Record<string, unknown>>>) => Promise<void>
  readonly log: SlotLog
  readonly metrics: Metrics
  /** Key-value store shared by all workers of the type. */
  readonly kv: {
    /**
     * Reads a value.
     *
     * @param key 1 to 256 characters.
     * @returns the value; null for an unknown or expired key.
     */
    readonly get: (key: string) => Promise<unknown>
    /**
     * Stores a value.
     *
     * @param key 1 to 256 characters.
     * @param value Any JSON value of up to 256 KiB.
     * @param options `ttlSeconds`: 1 to 31,536,000; without it, the key does not expire.
     * @throws {TypeError} when `value` is undefined.
     */
    readonly set: (key: string, value: unknown, options?: { ttlSeconds?: number }) => Promise<void>
    /**
     * Deletes a value; does nothing for an unknown key.
     *
     * @param key 1 to 256 characters.
     */
    readonly delete: (key: string) => Promise<void>
  }
  /** Locks shared by all workers of the type. */
  readonly lock: {
    /**
     * Acquires a lock if it is free. Does not wait.
     *
     * @param name 1 to 256 characters.
     * @param options `holdSeconds`, 1 to 43,200: how long the lock lasts after the last renewal.
     * @returns null while a run has the lock, this one included.
     * @throws {RangeError} when `holdSeconds` is out of range.
     * @throws an error with the code `unavailable` when the master does not respond. A retry may return null until the
     *   hold of the first call ends.
     */
    readonly acquire: (name: string, options: { holdSeconds: number }) => Promise<Lock | null>
  }
  /** Integer counters shared by all workers of the type. */
  readonly counter: {
    /**
     * Adds to a counter.
     *
     * @param name 1 to 256 characters.
     * @param n An integer within ±(2^53−1), which may be negative.
     * @returns the new value.
     * @throws an error with the code `out_of_range` when the value would exceed ±(2^53−1); it is unchanged then.
     * @throws an error with the code `unavailable` when the master does not respond. Not safe to retry: `n` may be
     *   added twice.
     */
    readonly add: (name: string, n: number) => Promise<number>
    /**
     * Reads a counter.
     *
     * @param name 1 to 256 characters.
     * @returns the value; 0 for an unknown counter.
     */
    readonly get: (name: string) => Promise<number>
  }
  /**
   * Opens a declared pool.
   *
   * @param name A name in `pools` of the definition.
   * @returns the pool; the call sends nothing.
   * @throws {TypeError} for a pool that the automation does not declare.
   */
  readonly pool: <N extends keyof P & string>(name: N) => Pool<P[N]>
  /**
   * Publish/subscribe without storage: a subscriber receives only messages published while it is connected. Requires a
   * store with a bus (Redis).
   */
  readonly bus: {
    /**
     * Publishes a message to the current subscribers.
     *
     * @param topic 1 to 256 characters; must not be `<automation type>.emit`.
     * @param message Any JSON value of up to 64 KiB.
     */
    readonly publish: (topic: string, message: unknown) => Promise<void>
    /**
     * Subscribes to a topic. Keeps the newest 1,000 unread messages. Messages that are published while the connection
     * to the master is lost are not delivered.
     *
     * @param topic 1 to 256 characters. A worker can follow 64 topics at a time.
     * @returns the messages; it ends when the iteration is left or the run is stopped, and does not throw.
     */
    readonly subscribe: (topic: string) => AsyncIterable<unknown>
  }
  /**
   * Waits.
   *
   * @param ms Milliseconds, 0 or more.
   * @throws {SlotStopped} the reason of `signal`, when it aborts.
   */
  readonly sleep: (ms: number) => Promise<void>
  /**
   * Reads the clock.
   *
   * @returns the current time in milliseconds since 1970.
   */
  readonly now: () => number
}

/** The task of a batch run. */
export interface TaskHandle<T> {
  readonly id: string
  readonly payload: T
  /** Number of failed attempts before this one; 0 for the first. */
  readonly attempt: number
  /** The labels that the producer gave the task; empty if it gave none. */
  readonly labels: Readonly<Record<string, string>>
  /** The group that the producer put the task into (D119); null if none. */
  readonly groupKey: string | null
  /**
   * Extends the lease of the task now. The worker also does this automatically at each third of the visibility timeout.
   * @throws {LeaseLost} when the lease was lost; another worker may have the task.
   */
  readonly extend: () => Promise<void>
  /**
   * Reports how far the run is. The newest value is stored within about a second, shown with the task, and handed to
   * the next run of the task if this one fails or is lost. Not sent while a master of an older release is running.
   *
   * @param value Any JSON value of at most 1 KiB.
   * @throws {TypeError} when JSON cannot contain the value.
   * @throws {RangeError} when the value has more than 1 KiB.
   * @see D114
   */
  readonly progress: (value: unknown) => void
  /** The newest progress that an earlier run of the task reported, so that this one can continue there; else null. */
  readonly lastProgress: unknown
}

/** What a run of a batch automation receives: the context and its task. */
export interface BatchContext<C = object, O = object, T = object, P extends Pools = Pools> extends Context<C, O, P> {
  readonly task: TaskHandle<Typed<T>>
}
