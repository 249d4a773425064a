/**
 * @module storage/memory/store
 * Defines what the groups of one memory store share. Groups are written as synchronous methods, each one atomic step;
 * `group` adds the check that the store is open, the argument checks and the promise.
 */
import { MAX_NAMESPACES, type Checks } from '../index.ts'
import type { TokenSequences } from './token-sequence.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** Bounds that tests may lower. */
export interface Limits {
  readonly textChars: number
  readonly workersPerType: number
  readonly forgottenPerType: number
  readonly poolItems: number
  readonly kvKeys: number
  readonly namesPerNamespace: number
  readonly namespaces: number
}

export const LIMITS: Limits = {
  textChars: 512 * 1_048_576,
  workersPerType: 50_000,
  forgottenPerType: 1_000_000,
  poolItems: 100_000,
  kvKeys: 100_000,
  namesPerNamespace: 10_000,
  namespaces: MAX_NAMESPACES,
}

/** Guards that a control switches off, so that a test can be seen red without them. */
export interface Safeguards {
  readonly tokenCompare: boolean
  readonly presenceCheck: boolean
  readonly frontOfTier: boolean
  readonly drainCheck: boolean
}
export const SAFEGUARDS: Safeguards = { tokenCompare: true, presenceCheck: true, frontOfTier: true, drainCheck: true }

export interface Store {
  /** Backend time. */
  readonly now: () => number
  readonly budget: MemoryBudget
  readonly sequences: TokenSequences
  readonly limits: Limits
  readonly safeguards: Safeguards
}

/** A group of the contract with synchronous methods. */
export type Sync<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}

/** @param open returns the group of the open store, or throws. */
export function group<G extends object>(checks: Checks<G>, open: () => Sync<G>): G {
  const methods = Object.entries(checks as Record<string, (...args: unknown[]) => void>).map(([name, check]) => {
    const call = (...args: unknown[]): Promise<unknown> => {
      try {
        const part = open() as Record<string, (...args: unknown[]) => unknown>
        check(...args)
        return Promise.resolve(part[name]?.(...args))
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return [name, call] as const
  })
  return Object.fromEntries(methods) as G
}

/** Returns the value under `key`, creating it if there is none. */
export function valueOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

/** The first of `items` that fit into `chars`, one at least, as `show` makes them. */
export function within<T, R>(
  items: Iterable<T>,
  n: number,
  chars: number,
  sizeOf: (item: T) => number,
  show: (item: T) => R,
): R[] {
  const shown: R[] = []
  let total = 0
  for (const item of items) {
    total += sizeOf(item)
    if (shown.length >= n || (total > chars && shown.length > 0)) break
    shown.push(show(item))
  }
  return shown
}
