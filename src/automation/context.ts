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
  readonly debug: (message: string, fields?: object) => void
  readonly info: (message: string, fields?: object) => void
  readonly warn: (message: string, fields?: object) => void
  readonly error: (message: string, fields?: object) => void
}

/**
 * Metrics of an automation, shown by the dashboard and in the worker's statistics. The first use of a name creates it.
 */
export interface Metrics {
  readonly counter: (name: string) => { add: (n?: number) => void }
  readonly gauge: (name: string) => { set: (value: number) => void }
  readonly histogram: (name: string) => { record: (value: number) => void }
}

/** An acquired lock. It is renewed until `release()` is called or its `await using` block ends. */
export interface Lock extends AsyncDisposable {
  /** Fencing token: grows with every acquisition of this name. */
  readonly token: number
  /**
   * Extends the lock by `holdSeconds` from now, 1 to 43,200. Renewals use this time from then on.
   * @throws {LeaseLost} when the lock has already expired or was released.
   */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  /** Releases the lock; a second call does nothing. @throws {LeaseLost} when the lock has already expired. */
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
   * Extends the claim by `holdSeconds` from now, 1 to 43,200. Renewals use this time from then on.
   * @throws {LeaseLost} when the claim has already expired, or the item was released or removed.
   */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  /** Makes the item free again; a second call does nothing. @throws {LeaseLost} when the claim has already expired. */
  readonly release: () => Promise<void>
  /** Deletes the item from the pool. @throws {LeaseLost} when the claim has already expired. */
  readonly remove: () => Promise<void>
}

type PlainObject = Readonly<Record<string, unknown>>
type PayloadOf<S> = S extends { payload: infer P } ? Typed<P, PlainObject> : PlainObject
type TagsOf<S> = S extends { tags: infer T extends object } ? Typed<T, PlainObject> : PlainObject

/** An item to put into a pool. `expiresAt` is in unix seconds; null or absent means never. */
export interface PoolItem<P, T> {
  readonly id: string
  readonly payload: P
  readonly tags?: T
  readonly expiresAt?: number | null
}

/** A pool of items shared by all workers. `S` is the {@link PoolSchemas} of its declaration. */
export interface Pool<S> {
  /**
   * Adds items, and replaces those with the same ID. Sends 1,000 items per call.
   * @throws {TypeError} when an item does not match the schemas of the pool; nothing is added then.
   */
  readonly put: (items: readonly PoolItem<PayloadOf<S>, TagsOf<S>>[]) => Promise<void>
  /**
   * Claims the free item that was used least recently and has all tags of `match`. Does not wait for an item.
   * @param options `holdSeconds` 1 to 43,200: how long the claim lasts after the last renewal.
   * @returns null when no such item is free.
   * @throws {RangeError} when `holdSeconds` is out of range.
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
  readonly slotId: number
  /** Aborts when the run has to stop; `signal.reason` is a SlotStopped. */
  readonly signal: AbortSignal
  /**
   * Emits an output into the stream of the automation type. Resolves when the output is in the buffer of the worker,
   * which is before the master has stored it.
   * @throws when the output does not match the output schema, or is too large for a frame (1 MiB).
   */
  readonly emit: (output: Typed<O, Readonly<Record<string, unknown>>>) => Promise<void>
  readonly log: SlotLog
  readonly metrics: Metrics
  /** Key-value store shared by all workers of the type. */
  readonly kv: {
    /** @returns the value; null for an unknown or expired key. */
    readonly get: (key: string) => Promise<unknown>
    /** Stores a JSON value of up to 256 KiB. `ttlSeconds` 1 to 31,536,000; without it, the key does not expire. */
    readonly set: (key: string, value: unknown, options?: { ttlSeconds?: number }) => Promise<void>
    readonly delete: (key: string) => Promise<void>
  }
  /**
   * Locks shared by all workers of the type. `acquire` does not wait: it returns null while another run has the lock.
   * `holdSeconds` 1 to 43,200 is how long the lock lasts after the last renewal; a RangeError outside of that.
   */
  readonly lock: { readonly acquire: (name: string, options: { holdSeconds: number }) => Promise<Lock | null> }
  /** Integer counters shared by all workers of the type. */
  readonly counter: {
    /**
     * Adds `n`, which may be negative. @returns the new value.
     * @throws an error with the code `out_of_range` when the value would exceed ±(2^53−1); it is unchanged then.
     */
    readonly add: (name: string, n: number) => Promise<number>
    /** @returns the value; 0 for an unknown counter. */
    readonly get: (name: string) => Promise<number>
  }
  /** Returns a declared pool. @throws {TypeError} for a pool that the automation does not declare. */
  readonly pool: <N extends keyof P & string>(name: N) => Pool<P[N]>
  /**
   * Publish/subscribe without storage: a subscriber receives only messages published while it is connected. Requires a
   * store with a bus (Redis).
   */
  readonly bus: {
    /** Publishes a JSON message of up to 64 KiB. */
    readonly publish: (topic: string, message: unknown) => Promise<void>
    /** Yields messages until the iteration is left or the run is stopped. Keeps the newest 1,000 unread messages. */
    readonly subscribe: (topic: string) => AsyncIterable<unknown>
  }
  /** Waits `ms` milliseconds. Rejects with the reason of `signal` when it aborts. */
  readonly sleep: (ms: number) => Promise<void>
  /** The current time in milliseconds since 1970. */
  readonly now: () => number
}

/** The task of a batch run. */
export interface TaskHandle<T> {
  readonly id: string
  readonly payload: T
  /** Number of failed attempts before this one; 0 for the first. */
  readonly attempt: number
  /**
   * Extends the lease of the task now. The worker also does this automatically at each third of the visibility timeout.
   * @throws {LeaseLost} when the lease was lost; another worker may have the task.
   */
  readonly extend: () => Promise<void>
}

/** What a run of a batch automation receives: the context and its task. */
export interface BatchContext<C = object, O = object, T = object, P extends Pools = Pools> extends Context<C, O, P> {
  readonly task: TaskHandle<Typed<T>>
}
