/**
 * @module storage/argument-checks
 * Checks single arguments of storage methods: numbers within bounds, names, texts and lists of them. A wrong one is a
 * TypeError that names the argument.
 */
import {
  MAX_RESPONSE_BYTES,
  MAX_HOLD_MS,
  MAX_N,
  MAX_NAME_CHARS,
  MAX_TTL_SECONDS,
  MAX_VISIBILITY_MS,
  MIN_HOLD_MS,
  MIN_VISIBILITY_MS,
} from '../protocol/index.ts'
import type { LeaseRef, PoolHolder, Ref } from './backend.ts'

/** Items in one call of `tasks`; the master splits larger ones. */
export const MAX_TASK_ITEMS = 500
/** Entries in one push. */
export const MAX_PUSH_ENTRIES = 1_000
const MAX_TTL_MS = MAX_TTL_SECONDS * 1000
export const MAX_PAGE = 1_000
export const ANY = Number.MAX_SAFE_INTEGER

export function wrong(what: string, expected: string, got: unknown): TypeError {
  const shown = typeof got === 'string' ? JSON.stringify(got.slice(0, 40)) : String(got)
  return new TypeError(`${what} must be ${expected}, got ${shown}`)
}

export function integer(what: string, value: number, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw wrong(what, `an integer from ${min} to ${max}`, value)
}

export function text(what: string, value: string): void {
  if (typeof value !== 'string') throw wrong(what, 'text', value)
}

export function textWithin(what: string, value: string, maxChars: number): void {
  text(what, value)
  if (value.length > maxChars) throw wrong(what, `text of at most ${maxChars} characters`, value.length)
}

/** Any text of 1 to 256 characters that has a UTF-8 form. */
export function name(what: string, value: string): void {
  text(what, value)
  const length = value.length <= MAX_NAME_CHARS ? value.length : [...value].length
  if (length < 1 || length > MAX_NAME_CHARS || !value.isWellFormed())
    throw wrong(what, `well-formed text of 1 to ${MAX_NAME_CHARS} characters`, value)
}

export function names(what: string, values: readonly string[]): void {
  list(what, values, 0, ANY)
  for (const value of values) name(what, value)
}

export function list(what: string, items: readonly unknown[], min: number, max: number): void {
  if (!Array.isArray(items)) throw wrong(what, 'a list', items)
  if (items.length < min || items.length > max) throw wrong(what, `a list of ${min} to ${max} items`, items.length)
}

export function each<T>(what: string, items: readonly T[], check: (item: T) => void): void {
  list(what, items, 0, ANY)
  for (const item of items) check(item)
}

export function batch<T>(what: string, items: readonly T[], check: (item: T) => void): void {
  list(what, items, 1, MAX_TASK_ITEMS)
  for (const item of items) check(item)
}

export const optional = <T>(value: T | null, check: (value: T) => void): void => {
  if (value !== null) check(value)
}
export const ref = (r: Ref): void => {
  name('type', r.type)
  name('id', r.id)
}
export const lease = (l: LeaseRef): void => {
  name('id', l.id)
  integer('token', l.token, 0, ANY)
}
export const hold = (ms: number): void => integer('holdMs', ms, MIN_HOLD_MS, MAX_HOLD_MS)
export const holder = ({ type, slotId, taskId }: PoolHolder): void => {
  name('holder.type', type)
  optional(slotId, (slot) => integer('holder.slotId', slot, 0, ANY))
  optional(taskId, (task) => name('holder.taskId', task))
}
export const visibility = (ms: number): void => integer('visibilityMs', ms, MIN_VISIBILITY_MS, MAX_VISIBILITY_MS)
export const ttl = (what: string, ms: number): void => integer(what, ms, 1_000, MAX_TTL_MS)
const n = (value: number): void => integer('n', value, 1, MAX_N)
export const refs = (items: readonly Ref[]): void => each('refs', items, ref)
export const leases = (type: string, items: readonly LeaseRef[]): void => {
  name('type', type)
  batch('leases', items, lease)
}
export const piece = (bytes: number | undefined): void => {
  if (bytes !== undefined) integer('bytes', bytes, 1, MAX_RESPONSE_BYTES)
}
export const inspect = (type: string, value: number, bytes?: number): void => {
  name('type', type)
  n(value)
  piece(bytes)
}

export const idsWithin = (type: string, ids: readonly string[], bytes?: number): void => {
  name('type', type)
  batch('ids', ids, (id) => name('id', id))
  piece(bytes)
}

/** One check per method, or none where nothing can be wrong. */
export type Checks<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => unknown ? (...args: A) => void : never
}
