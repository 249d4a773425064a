/**
 * @module storage/sqlite/calls
 * Defines the messages between the main thread and the thread that owns the database: groups of calls, and results.
 *
 * A call names a group and a method of the storage contract (groups.ts). The engine implements the same groups
 * synchronously, so the types of the contract apply on both sides of the thread.
 */
import { FleetError, type ErrorCode, type FleetErrorOptions } from '../../protocol/index.ts'
import type { GroupName, Groups, StorageCall } from '../index.ts'
import { messageOf } from './driver.ts'

/**
 * `read` changes nothing. `relaxed` may be lost by a power cut, not by a crash of the process: a group of such calls
 * alone costs no fsync. `write` is durable before its result is returned. A growing call is rejected while the disk is
 * nearly full, a `spareable` one somewhat earlier: the last space is kept for tasks (D83).
 */
export interface CallRule {
  readonly kind: 'read' | 'relaxed' | 'write'
  readonly grows: boolean
  readonly spareable?: boolean
  /** Position of the argument with the most outcomes to keep. Where spareable calls are rejected, it becomes 0. */
  readonly maxOutcomesAt?: number
}

const READ: CallRule = { kind: 'read', grows: false }
const RELAXED: CallRule = { kind: 'relaxed', grows: false }
const WRITE: CallRule = { kind: 'write', grows: false }
const GROWS: CallRule = { kind: 'write', grows: true }
const SPAREABLE: CallRule = { kind: 'write', grows: true, spareable: true }
const RESERVE: CallRule = { kind: 'write', grows: false, maxOutcomesAt: 3 }
const CANCEL: CallRule = { kind: 'write', grows: false, maxOutcomesAt: 3 }
const ACK: CallRule = { kind: 'write', grows: false, maxOutcomesAt: 2 }

/** Every operation, once. `satisfies` fails when the contract gains a method that has no row here. */
const RULES = {
  meta: { info: READ, beat: READ, declare: READ }, // What is known of masters is kept in memory.
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
  configs: { put: GROWS, putMany: GROWS, get: READ, history: READ, raise: WRITE },
  revisions: { put: GROWS, get: READ, list: READ, addTallies: RELAXED },
  enrolments: { put: GROWS, remove: WRITE, list: READ },
  rollouts: { put: GROWS, remove: WRITE, list: READ, heads: READ },
  operations: { create: GROWS, update: GROWS, remove: WRITE, heads: READ, part: READ },
  audit: { append: SPAREABLE, list: READ },
  rollups: { add: RELAXED, read: READ },
  stats: { read: READ },
  streams: { push: SPAREABLE, tail: READ, peek: READ, pop: WRITE, length: READ, bytes: READ, trim: WRITE },
  tasks: {
    submit: GROWS,
    reserve: RESERVE,
    ack: ACK,
    release: WRITE,
    nack: WRITE,
    extend: WRITE,
    sweep: WRITE,
    locate: READ,
    queue: READ,
    bodies: READ,
    describe: READ,
    list: READ,
    dead: READ,
    replay: WRITE,
    newestDeath: READ,
    clearDead: WRITE,
    applyToDead: WRITE,
    deadGroups: READ,
    groupDead: WRITE,
    newestDead: READ,
    applyToDeadGroup: WRITE,
    replayCounts: READ,
    forgetReplays: WRITE,
    deadTask: READ,
    replayEdited: GROWS,
    counts: READ,
    countDue: READ,
    cancel: CANCEL,
    pause: WRITE,
    resume: WRITE,
    setGroupPolicy: WRITE,
    groups: READ,
  },
  pools: {
    put: GROWS,
    remove: WRITE,
    claim: WRITE,
    extend: WRITE,
    release: WRITE,
    list: READ,
    claims: READ,
    sizes: READ,
  },
  kv: { get: READ, set: SPAREABLE, delete: WRITE },
  locks: { acquire: GROWS, extend: WRITE, release: WRITE },
  counters: { add: GROWS, get: READ },
} as const satisfies { readonly [G in GroupName]: { readonly [M in keyof Groups[G]]: CallRule } }

/** @throws {TypeError} if the contract has no such method. */
export function ruleOf({ group, method }: StorageCall): CallRule {
  const rules: Readonly<Record<string, CallRule>> = RULES[group]
  const rule = rules[method]
  if (rule === undefined) throw new TypeError(`${group} has no method ${method}`)
  return rule
}

/** The same call, but it keeps no outcome of a task (D110). */
export function withoutOutcomes(call: StorageCall, { maxOutcomesAt }: CallRule): StorageCall {
  return maxOutcomesAt === undefined ? call : { ...call, args: call.args.toSpliced(maxOutcomesAt, 1, 0) }
}

/** One transaction. `nowMs`: backend time for all of it. */
export interface CallGroup {
  readonly nowMs: number
  readonly kind: CallRule['kind']
  readonly calls: readonly StorageCall[]
}
/** What a call returned or threw, as it crosses the thread boundary. */
export type CallResult =
  { readonly kind: 'returned'; readonly value: unknown } | { readonly kind: 'threw'; readonly error: ErrorData }

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
