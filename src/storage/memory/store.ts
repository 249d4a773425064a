/**
 * @module storage/memory/store
 * What the parts of one store share, and the shape in which they are written: synchronous methods, one atomic step each,
 * which `group` turns into the promises of the contract behind the gate and the argument checks.
 */
import type { Checks } from '../index.ts'
import type { Fences } from './fences.ts'
import type { Ledger } from './ledger.ts'

/** Bounds that tests may lower. */
export interface Limits {
  readonly textChars: number
  readonly workersPerType: number
  readonly forgottenPerType: number
  readonly poolItems: number
  readonly kvKeys: number
  readonly namesPerNamespace: number
}

export const LIMITS: Limits = {
  textChars: 512 * 1_048_576,
  workersPerType: 50_000,
  forgottenPerType: 1_000_000,
  poolItems: 100_000,
  kvKeys: 100_000,
  namesPerNamespace: 10_000,
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
  readonly ledger: Ledger
  readonly fences: Fences
  readonly limits: Limits
  readonly safeguards: Safeguards
}

/** A group of the contract with its answers at once. */
export type Sync<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}

/** @param open answers the open part, or throws. */
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

/** The value under `key`, made where there is none. */
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
