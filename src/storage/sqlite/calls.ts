/**
 * @module storage/sqlite/calls
 * Defines the messages between the main thread and the thread that owns the database: groups of calls, and results.
 *
 * A call names a group and a method of the storage contract. The engine implements the same groups synchronously, so
 * the contract's types hold on both sides of the thread and no second list of operations has to be kept in step.
 */
import { FleetError, type ErrorCode, type FleetErrorOptions } from '../../protocol/index.ts'
import type { Backend } from '../index.ts'
import { messageOf } from './driver.ts'

/** The groups that live in the database; the bus and the event log live in the process. */
export type Groups = Pick<
  Backend,
  'meta' | 'workers' | 'configs' | 'stats' | 'streams' | 'tasks' | 'pools' | 'kv' | 'locks' | 'counters'
>
export type GroupName = keyof Groups

/** A group of the contract as the engine implements it: the same methods, synchronous. */
export type Sync<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}
export type SyncGroups = { readonly [G in GroupName]: Sync<Groups[G]> }

/**
 * `read` changes nothing. `relaxed` may be lost by a power cut, not by a crash of the process: a group of such calls
 * alone costs no fsync. `write` is durable before its result is returned. A growing call is rejected while the disk is
 * nearly full, a `spareable` one somewhat earlier: the last space is kept for tasks (D83).
 */
export interface Rule {
  readonly kind: 'read' | 'relaxed' | 'write'
  readonly grows: boolean
  readonly spareable?: boolean
}

const READ: Rule = { kind: 'read', grows: false }
const RELAXED: Rule = { kind: 'relaxed', grows: false }
const WRITE: Rule = { kind: 'write', grows: false }
const GROWS: Rule = { kind: 'write', grows: true }
const SPAREABLE: Rule = { kind: 'write', grows: true, spareable: true }

/** Every operation, once. `satisfies` fails when the contract gains a method that has no row here. */
export const RULES = {
  meta: { info: READ, beat: READ }, // Heartbeats of masters are kept in memory.
  workers: {
    register: WRITE,
    beat: RELAXED,
    disconnect: WRITE,
    drain: WRITE,
    manage: WRITE,
    forget: WRITE,
    get: READ,
    page: READ,
  },
  configs: { put: GROWS, get: READ, history: READ, raise: WRITE },
  stats: { read: READ },
  streams: { push: SPAREABLE, tail: READ, peek: READ, pop: WRITE, length: READ, bytes: READ, trim: WRITE },
  tasks: {
    submit: GROWS,
    reserve: WRITE,
    ack: WRITE,
    release: WRITE,
    nack: WRITE,
    extend: WRITE,
    sweep: WRITE,
    locate: READ,
    queue: READ,
    bodies: READ,
    dead: READ,
    replay: WRITE,
    lastDeath: READ,
    clearDead: WRITE,
    select: WRITE,
    counts: READ,
  },
  pools: { put: GROWS, remove: WRITE, claim: WRITE, extend: WRITE, release: WRITE, list: READ, sizes: READ },
  kv: { get: READ, set: SPAREABLE, delete: WRITE },
  locks: { acquire: GROWS, extend: WRITE, release: WRITE },
  counters: { add: GROWS, get: READ },
} as const satisfies { readonly [G in GroupName]: { readonly [M in keyof Groups[G]]: Rule } }

export interface Call {
  readonly group: GroupName
  readonly method: string
  readonly args: readonly unknown[]
}
/** One transaction. `nowMs`: backend time for all of it. */
export interface CallGroup {
  readonly nowMs: number
  readonly kind: Rule['kind']
  readonly calls: readonly Call[]
}
export type Answer = { readonly ok: unknown } | { readonly error: ErrorData }

/**
 * An error as it crosses the thread boundary, where classes are lost. `code` null: a TypeError, a mistake in our code.
 */
export interface ErrorData {
  readonly code: ErrorCode | null
  readonly message: string
  readonly outcome: FleetErrorOptions['outcome']
}

export function dataOf(error: unknown): ErrorData {
  if (error instanceof FleetError) return { code: error.code, message: error.message, outcome: error.outcome }
  return { code: null, message: messageOf(error), outcome: undefined }
}

/** Temporary errors carry the time after which a retry makes sense. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  STORAGE_FULL: 5,
  STORAGE_OVERLOADED: 1,
  STORAGE_UNAVAILABLE: 1,
}

export function errorOf(data: ErrorData): Error {
  return data.code === null ? new TypeError(data.message) : storageError(data.code, data.message, data.outcome)
}

export function storageError(
  code: ErrorCode,
  message: string,
  outcome?: FleetErrorOptions['outcome'],
  cause?: unknown,
): FleetError {
  const retryAfterSeconds = RETRY_AFTER_SECONDS[code]
  return new FleetError(code, message, {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(outcome !== undefined && { outcome }),
    ...(cause !== undefined && { cause }),
  })
}
