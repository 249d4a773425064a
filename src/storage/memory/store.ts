/**
 * @module storage/memory/store
 * Defines what the groups of one memory store share: backend time, the memory budget, fencing tokens and bounds.
 */
import { MAX_NAMESPACES } from '../index.ts'
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
  readonly bulkCompare: boolean
  readonly outcomes: boolean
  readonly groupTurns: boolean
  readonly groupLeaseLost: boolean
}
export const SAFEGUARDS: Safeguards = {
  tokenCompare: true,
  presenceCheck: true,
  frontOfTier: true,
  drainCheck: true,
  bulkCompare: true,
  outcomes: true,
  groupTurns: true,
  groupLeaseLost: true,
}

export interface Store {
  /** Backend time. */
  readonly now: () => number
  readonly budget: MemoryBudget
  readonly sequences: TokenSequences
  readonly limits: Limits
  readonly safeguards: Safeguards
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
