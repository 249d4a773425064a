/** @module automation/testing/options  Defines the options and the results of the harness, with the author's types. */
import type { BaseConfig } from '../../protocol/index.ts'
import type { Pool, Pools, Typed } from '../index.ts'
import type { Excusable } from './errors.ts'

type Plain = Readonly<Record<string, unknown>>
type PoolSeed<S> = Omit<Parameters<Pool<S>['put']>[0][number], 'id'> & { readonly id?: string }

/** Fields to set over the defaults, like a PATCH: the automation's own fields and the base fields. */
export type ConfigPatch<C> = Partial<BaseConfig & Typed<C, Plain>>
/** `id` defaults to `task-1`, `task-2` … */
export interface TaskSeed<T> {
  readonly payload: Typed<T, Plain>
  readonly id?: string
  readonly priority?: number
  readonly maxAttempts?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly groupKey?: string
}

interface RunOptions<C, P extends Pools> {
  /** Fields to set over the defaults; `enabled` is true. */
  readonly config?: ConfigPatch<C>
  /** Shorthand for the base field `slots` of the config. */
  readonly slots?: number
  /** Seed of all random numbers; the same seed gives the same run. Default 1. */
  readonly seed?: number
  /** Items of the declared pools; their IDs default to `<pool>-1` … */
  readonly pools?: { readonly [N in keyof P]?: readonly PoolSeed<P[N]>[] }
  readonly kv?: Plain
  readonly counters?: Readonly<Record<string, number>>
  /** Locks that another worker holds, with the hold time in seconds. */
  readonly locks?: Readonly<Record<string, number>>
  /** Faults that do not fail the run. */
  readonly allow?: readonly Excusable[]
  /** Real seconds that a run may wait without a break for something outside of its context. Default 4. */
  readonly maxWaitSeconds?: number
}

/** Functions by the virtual second at which they are called. */
type Script<H> = Readonly<Record<number, (handle: H) => Promise<void> | void>>

export interface BatchOptions<C, T, P extends Pools> extends RunOptions<C, P> {
  readonly tasks: readonly TaskSeed<T>[]
  /** Virtual seconds within which every task must be done. Default 3600. */
  readonly maxVirtualSeconds?: number
  readonly script?: Script<BatchHandle<C, T>>
}

export interface ContinuousOptions<C, P extends Pools> extends RunOptions<C, P> {
  /** Virtual seconds after which the slots are drained. */
  readonly forSeconds: number
  readonly script?: Script<Handle<C>>
}

/** The functions with which a script controls the worker. */
export interface Handle<C> {
  /** Changes the config, like a PATCH. */
  readonly setConfig: (patch: ConfigPatch<C>) => Promise<void>
  /** Stops all slots. `recycle` replaces them; otherwise the worker starts no more. */
  readonly stop: (why: 'drain' | 'shutdown' | 'recycle') => void
  /** Disconnects the worker for this time: calls fail, and bus messages are lost. */
  readonly disconnect: (seconds: number) => void
  /** Publishes a message as another client. */
  readonly publish: (topic: string, message: unknown) => void
}

export interface BatchHandle<C, T> extends Handle<C> {
  /** Submits further tasks during the run. */
  readonly submit: (tasks: readonly TaskSeed<T>[]) => Promise<void>
  /** Returns a running task to the queue. Its run is aborted with `lease_lost`. */
  readonly loseLease: (taskId: string) => Promise<void>
}

export type CallName =
  | 'emit'
  | 'sleep'
  | 'task.extend'
  | 'kv.get'
  | 'kv.set'
  | 'kv.delete'
  | 'counter.add'
  | 'counter.get'
  | 'bus.publish'
  | 'bus.subscribe'
  | 'lock.acquire'
  | 'lock.extend'
  | 'lock.release'
  | 'pool.put'
  | 'pool.claim'
  | 'pool.extend'
  | 'pool.release'
  | 'pool.remove'

/** One call of the context. The first argument of `lock` and `pool` calls is the name of the lock or pool. */
export interface Call {
  readonly call: CallName
  readonly args: readonly unknown[]
  readonly slotId: number
  /** null for a continuous automation. */
  readonly taskId: string | null
  readonly atSeconds: number
  /** The returned value; absent while the call waits, and for a call without a value. */
  readonly result?: unknown
  /** The message of the error, if it failed. */
  readonly error?: string
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: object
  readonly slotId: number
  readonly atSeconds: number
}
export interface PoolItemState {
  readonly id: string
  readonly payload: unknown
  readonly tags: unknown
  readonly inUse: boolean
}

/** What the runs did, and what they left in the store. */
export interface RunResult<O> {
  /** The emitted outputs, in the order of the stream. */
  readonly outputs: readonly Typed<O, Plain>[]
  readonly calls: readonly Call[]
  /** The log lines of the automation. */
  readonly logs: readonly LogLine[]
  /** The log lines of the worker about it. */
  readonly workerLogs: readonly LogLine[]
  /** Metrics as in the worker's statistics: `counter.<name>`, `gauge.<name>`, `histogram.<name>.p50` … */
  readonly metrics: Readonly<Record<string, number>>
  readonly kv: Readonly<Record<string, unknown>>
  readonly counters: Readonly<Record<string, number>>
  /** Every lock that was used, and whether it is held at the end. */
  readonly locks: Readonly<Record<string, 'free' | 'held'>>
  readonly pools: Readonly<Record<string, readonly PoolItemState[]>>
  /** The messages published on the bus, by the automation and by the script. */
  readonly published: readonly { readonly topic: string; readonly message: unknown }[]
  readonly virtualSeconds: number
}

/** One delivery of a task. */
export interface Attempt {
  readonly taskId: string
  /** Number of failed attempts before this one. */
  readonly attempt: number
  readonly slotId: number
  readonly startSeconds: number
  readonly endSeconds: number
  readonly outcome: 'acked' | 'scheduled' | 'dead' | 'released' | 'lease_lost'
  /** The text of `last_error`; null if the attempt did not fail. */
  readonly error: string | null
  /** The delay that RetryIn requested. */
  readonly retryInSeconds: number | null
}

export interface BatchRun<O> extends RunResult<O> {
  /** In the order in which they ended. */
  readonly attempts: readonly Attempt[]
  /** IDs of the acked tasks. */
  readonly acked: readonly string[]
  /** The dead letters, oldest first. */
  readonly dead: readonly { readonly id: string; readonly error: string | null }[]
  /** IDs of the tasks that are neither acked nor dead, because a script stopped the worker. */
  readonly left: readonly string[]
}

/** One run of a slot. */
export interface ContinuousAttempt {
  readonly slotId: number
  readonly startSeconds: number
  readonly endSeconds: number
  readonly error: string | null
}

export interface ContinuousRun<O> extends RunResult<O> {
  /** In the order in which they ended. `error` is null if the run returned, or stopped because of its signal. */
  readonly runs: readonly ContinuousAttempt[]
}
