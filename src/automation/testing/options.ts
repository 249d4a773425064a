/** @module automation/testing/options  What goes into a run of the harness and what comes out, as the author's types. */
import type { BaseConfig } from '../../protocol/index.ts'
import type { Pool, Pools, Typed } from '../index.ts'
import type { Excusable } from './errors.ts'

type Plain = Readonly<Record<string, unknown>>
type PoolSeed<S> = Omit<Parameters<Pool<S>['put']>[0][number], 'id'> & { readonly id?: string }

/** Fields to set over the defaults, as in a PATCH: the automation's own and the base fields. */
export type ConfigPatch<C> = Partial<BaseConfig & Typed<C, Plain>>
/** `id`: `task-1`, `task-2` … where it is left out. */
export interface TaskSeed<T> {
  readonly payload: Typed<T, Plain>
  readonly id?: string
  readonly priority?: number
  readonly maxAttempts?: number
}

interface RunOptions<C, P extends Pools> {
  /** Over the defaults; `enabled` is true. */
  readonly config?: ConfigPatch<C>
  /** Short for the base field of the config. */
  readonly slots?: number
  /** Of everything that is drawn: the same seed is the same run. Default 1. */
  readonly seed?: number
  /** Items of the declared pools; their ids are `<pool>-1` … where left out. */
  readonly pools?: { readonly [N in keyof P]?: readonly PoolSeed<P[N]>[] }
  readonly kv?: Plain
  readonly counters?: Readonly<Record<string, number>>
  /** Locks that another worker holds, and for how many seconds. */
  readonly locks?: Readonly<Record<string, number>>
  /** What would fail the run and is meant. */
  readonly allow?: readonly Excusable[]
  /** Real seconds that a run may wait for something outside of its context in one go. Default 4. */
  readonly maxWaitSeconds?: number
}

/** By the virtual second at which each is called. */
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

/** What a script does to the worker. */
export interface Handle<C> {
  /** Changes the config, as a PATCH would. */
  readonly setConfig: (patch: ConfigPatch<C>) => Promise<void>
  /** `recycle` replaces the slots; after the others the worker starts no more. */
  readonly stop: (why: 'drain' | 'shutdown' | 'recycle') => void
  /** For so many seconds no call is answered, and nothing is heard of the bus. */
  readonly disconnect: (seconds: number) => void
  /** A message from somebody else. */
  readonly publish: (topic: string, message: unknown) => void
}

export interface BatchHandle<C, T> extends Handle<C> {
  readonly submit: (tasks: readonly TaskSeed<T>[]) => Promise<void>
  /** The task goes back to the queue while it runs here: its run is told `lease_lost`. */
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
  /** null: a continuous automation. */
  readonly taskId: string | null
  readonly atSeconds: number
  /** What it answered; absent while it waits, and for a call that answers nothing. */
  readonly result?: unknown
  /** Why it failed. */
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

/** What a run did, and what it left behind. */
export interface RunResult<O> {
  /** What was emitted, in order, as it arrives in the stream. */
  readonly outputs: readonly Typed<O, Plain>[]
  readonly calls: readonly Call[]
  /** What the automation logged. */
  readonly logs: readonly LogLine[]
  /** What the worker logged about it. */
  readonly workerLogs: readonly LogLine[]
  /** As in the worker's statistics: `counter.<name>`, `gauge.<name>`, `histogram.<name>.p50` … */
  readonly metrics: Readonly<Record<string, number>>
  readonly kv: Readonly<Record<string, unknown>>
  readonly counters: Readonly<Record<string, number>>
  /** Every lock that was named, and whether somebody holds it at the end. */
  readonly locks: Readonly<Record<string, 'free' | 'held'>>
  readonly pools: Readonly<Record<string, readonly PoolItemState[]>>
  /** What was published on the bus, by the automation and by the script. */
  readonly published: readonly { readonly topic: string; readonly message: unknown }[]
  readonly virtualSeconds: number
}

/** One delivery of a task. */
export interface Attempt {
  readonly taskId: string
  /** Failed runs before this one. */
  readonly attempt: number
  readonly slotId: number
  readonly startSeconds: number
  readonly endSeconds: number
  readonly outcome: 'acked' | 'scheduled' | 'dead' | 'released' | 'lease_lost'
  /** The text of `last_error`; null where the run did not fail. */
  readonly error: string | null
  /** What RetryIn asked for. */
  readonly retryInSeconds: number | null
}

export interface BatchRun<O> extends RunResult<O> {
  /** In the order in which they ended. */
  readonly attempts: readonly Attempt[]
  /** Ids of the tasks that are done. */
  readonly acked: readonly string[]
  /** The dead letters, oldest first. */
  readonly dead: readonly { readonly id: string; readonly error: string | null }[]
  /** Ids of the tasks that are neither, because a script stopped the worker. */
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
  /** In the order in which they ended. `error` is null where the run returned, or ended because it was told to stop. */
  readonly runs: readonly ContinuousAttempt[]
}
