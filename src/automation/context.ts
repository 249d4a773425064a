/**
 * @module automation/context
 * What a plugin's `run` gets. Functions are properties without `this`: destructure them.
 * Seconds where the author writes them; `sleep` and `now` alone count milliseconds, as JavaScript does.
 */
import type { Static, TSchema } from 'typebox'
import type { BaseConfig } from '../protocol/index.ts'

/** The type a schema describes: exact for TypeBox, `Plain` for a hand-written JSON Schema. */
export type Typed<S, Plain = unknown> = S extends { '~kind': string } ? Static<S & TSchema> : Plain

/** Schema of a pool: what an item holds, and the tags it is matched by. */
export interface PoolSchemas {
  readonly payload: object
  readonly tags?: object
}
export type Pools = Readonly<Record<string, PoolSchemas>>

/** Why a slot was told to stop; stands as `reason` on its signal. */
export type StopReason = 'drain' | 'disabled' | 'slots' | 'recycle' | 'shutdown' | 'lease_lost'

export interface SlotLog {
  readonly debug: (message: string, fields?: object) => void
  readonly info: (message: string, fields?: object) => void
  readonly warn: (message: string, fields?: object) => void
  readonly error: (message: string, fields?: object) => void
}

export interface Metrics {
  readonly counter: (name: string) => { add: (n?: number) => void }
  readonly gauge: (name: string) => { set: (value: number) => void }
  readonly histogram: (name: string) => { record: (value: number) => void }
}

/** The mutex of a name, held. Renewed while held; released on the way out of `await using`, or by release(). */
export interface Lock extends AsyncDisposable {
  readonly token: number
  /** @throws LeaseLost when it ended before. */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  readonly release: () => Promise<void>
}

/** An exclusive, renewed claim of a pool item. */
export interface PoolLease<P, T> extends AsyncDisposable {
  readonly id: string
  readonly payload: P
  readonly tags: T
  /** @throws LeaseLost when it ended before. */
  readonly extend: (options: { holdSeconds: number }) => Promise<void>
  readonly release: () => Promise<void>
  readonly remove: () => Promise<void>
}

type PlainObject = Readonly<Record<string, unknown>>
type PayloadOf<S> = S extends { payload: infer P } ? Typed<P, PlainObject> : PlainObject
type TagsOf<S> = S extends { tags: infer T extends object } ? Typed<T, PlainObject> : PlainObject

/** One item to put. `expiresAt`: unix seconds; null or absent: never. */
export interface PoolItem<P, T> {
  readonly id: string
  readonly payload: P
  readonly tags?: T
  readonly expiresAt?: number | null
}

/** `S`: the {@link PoolSchemas} the pool was declared with. */
export interface Pool<S> {
  /** Adds items, or replaces those of the same id. */
  readonly put: (items: readonly PoolItem<PayloadOf<S>, TagsOf<S>>[]) => Promise<void>
  /** Takes the free item that was used least recently and has all tags of `match`. null: there is none. */
  readonly claim: (options: {
    holdSeconds: number
    match?: Readonly<Record<string, string | number | boolean>>
  }) => Promise<PoolLease<PayloadOf<S>, TagsOf<S>> | null>
}

export interface Context<C = object, O = object, P extends Pools = Pools> {
  /** Frozen. Batch: as it was when the task was taken. Continuous: each read of `context.config` gives the newest applied. */
  readonly config: Readonly<BaseConfig & Typed<C, Record<string, unknown>>>
  readonly slotId: number
  /** `signal.reason` is a SlotStopped. */
  readonly signal: AbortSignal
  /** Resolves when the output is in the worker's buffer, not when it is stored. Throws when it does not match the output schema or does not fit a frame. */
  readonly emit: (output: Typed<O, Readonly<Record<string, unknown>>>) => Promise<void>
  readonly log: SlotLog
  readonly metrics: Metrics
  readonly kv: {
    readonly get: (key: string) => Promise<unknown>
    readonly set: (key: string, value: unknown, options?: { ttlSeconds?: number }) => Promise<void>
    readonly delete: (key: string) => Promise<void>
  }
  readonly lock: { readonly acquire: (name: string, options: { holdSeconds: number }) => Promise<Lock | null> }
  readonly counter: {
    readonly add: (name: string, n: number) => Promise<number>
    readonly get: (name: string) => Promise<number>
  }
  readonly pool: <N extends keyof P & string>(name: N) => Pool<P[N]>
  readonly bus: {
    readonly publish: (topic: string, message: unknown) => Promise<void>
    readonly subscribe: (topic: string) => AsyncIterable<unknown>
  }
  /** Rejects with the signal's reason when the slot is stopped. */
  readonly sleep: (ms: number) => Promise<void>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface TaskHandle<T> {
  readonly id: string
  readonly payload: T
  /** Failed runs so far, from 0. */
  readonly attempt: number
  /** Prolongs the lease now; the runtime does so by itself at a third of the visibility timeout. @throws LeaseLost */
  readonly extend: () => Promise<void>
}

export interface BatchContext<C = object, O = object, T = object, P extends Pools = Pools> extends Context<C, O, P> {
  readonly task: TaskHandle<Typed<T>>
}
