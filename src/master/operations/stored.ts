/**
 * @module master/operations/stored
 * Defines an operation as it is stored: a head, and parts of 200 workers each. Names in parts are short, since an
 * operation may have 10,000 workers. Patches contain secrets; they are masked where an operation is shown.
 */
import { OPERATION_PART_WORKERS, OPERATION_RESULTS, type JsonObject, type OperationBody } from '../../protocol/index.ts'
import type { OperationCounts, OperationKind, OperationResult, OperationState } from '../../protocol/index.ts'

/** The settings of an operation, with defaults. */
export interface Pace {
  readonly perSecond: number
  readonly parallel: number
  readonly waitMs: number
  readonly bakeMs: number
  readonly stopAfter: number | null
  readonly stopShare: number | null
}

/** The head of an operation. */
export interface StoredHead extends Pace {
  readonly kind: OperationKind
  readonly state: OperationState
  readonly reason: string | null
  readonly note: string | null
  readonly actor: string
  readonly createdMs: number
  readonly endedMs: number | null
  /** The master that carries it out. A master takes an operation over by an update, which the other one notices. */
  readonly owner: string | null
  readonly total: number
  readonly counts: OperationCounts
  /** The fields to merge; null for an undo and for other kinds. */
  readonly patch: JsonObject | null
  readonly fields: readonly string[]
  /** The epoch of the store at the creation: generations of another epoch mean nothing. */
  readonly epoch: string
  readonly group: string | null
  readonly beforeMs: number | null
  /** Position of the first worker whose turn has not come. */
  readonly next: number
  /** Positions of the active workers. */
  readonly active: readonly number[]
  readonly failures: readonly { readonly id: string; readonly message: string }[]
  readonly undoOf: string | null
  readonly undoneBy: string | null
  /** The worker patterns of the token that created it; left out if it covers every worker. */
  readonly workers?: readonly string[]
}

/** One worker of an operation. */
export interface Item {
  readonly id: string
  readonly s: OperationResult
  /** Its generation at the creation. */
  readonly g: number
  /** The generation that the operation wrote. */
  readonly n?: number
  /** Position in `befores` of its values before. */
  readonly b?: number
  /** Position in `patches` of its patch, in an undo. */
  readonly p?: number
  /** What failed, or why it was left alone. */
  readonly e?: string
  /** When it became active, in ms. */
  readonly t?: number
  /** When it was first seen with the new config, in ms. */
  readonly a?: number
  /** 1: it was in ERROR before the change. */
  readonly r?: 1
}

/** One part of an operation. */
export interface StoredPart {
  readonly items: readonly Item[]
  readonly befores: readonly JsonObject[]
  readonly patches: readonly JsonObject[]
}

/** The values before are kept up to this length for one part; an undo of further workers reads their history. */
const MAX_BEFORE_CHARS = 131_072

/** @returns counts of 0. */
export function noCounts(): OperationCounts {
  return Object.fromEntries(OPERATION_RESULTS.map((result) => [result, 0])) as unknown as OperationCounts
}

/** @returns the counts after items changed their result. */
export function recounted(
  counts: OperationCounts,
  changes: readonly { readonly from: OperationResult | null; readonly to: OperationResult }[],
): OperationCounts {
  const next = { ...counts }
  for (const { from, to } of changes) {
    if (from !== null) next[from] -= 1
    next[to] += 1
  }
  return next
}

/** The head of an operation that has no items yet. */
export const EMPTY_HEAD: Omit<StoredHead, keyof Pace | 'kind' | 'actor' | 'epoch' | 'note' | 'createdMs'> = {
  state: 'running',
  reason: null,
  endedMs: null,
  owner: null,
  total: 0,
  counts: noCounts(),
  patch: null,
  fields: [],
  group: null,
  beforeMs: null,
  next: 0,
  active: [],
  failures: [],
  undoOf: null,
  undoneBy: null,
}

/** An item with the values that go into its part. */
export interface NewItem {
  readonly item: Item
  readonly before?: JsonObject
  readonly patch?: JsonObject
}

/** @returns the parts of a new operation. Equal values are stored once in each part. */
export function partsOf(items: readonly NewItem[]): readonly StoredPart[] {
  const parts: StoredPart[] = []
  for (let from = 0; from < items.length; from += OPERATION_PART_WORKERS)
    parts.push(partOf(items.slice(from, from + OPERATION_PART_WORKERS)))
  return parts
}

function partOf(items: readonly NewItem[]): StoredPart {
  const befores = new DistinctValues()
  const patches = new DistinctValues()
  const stored = items.map(({ item, before, patch }): Item => {
    const b = before === undefined ? undefined : befores.add(before, MAX_BEFORE_CHARS)
    const p = patch === undefined ? undefined : patches.add(patch, Infinity)
    return { ...item, ...(b !== undefined && { b }), ...(p !== undefined && { p }) }
  })
  return { items: stored, befores: befores.values, patches: patches.values }
}

class DistinctValues {
  readonly values: JsonObject[] = []
  readonly #positions = new Map<string, number>()
  #chars = 0

  /** @returns the position of the value; undefined if it does not fit. */
  add(value: JsonObject, maxChars: number): number | undefined {
    const text = JSON.stringify(value)
    const known = this.#positions.get(text)
    if (known !== undefined) return known
    if (this.#chars + text.length > maxChars) return undefined
    this.#chars += text.length
    this.#positions.set(text, this.values.length)
    return this.values.push(value) - 1
  }
}

/** The part of the item at a position of the operation, and its place there. */
export const placeOf = (position: number): { readonly part: number; readonly at: number } => ({
  part: Math.floor(position / OPERATION_PART_WORKERS),
  at: position % OPERATION_PART_WORKERS,
})

/** @returns the settings of a request, with defaults. */
export function paceOf(
  body: Pick<OperationBody, 'per_second' | 'parallel' | 'wait_seconds' | 'bake_seconds' | 'stop_after' | 'stop_share'>,
  defaults: {
    readonly perSecond: number
    readonly parallel: number
    readonly waitSeconds: number
    readonly bakeSeconds: number
  },
): Pace {
  return {
    perSecond: body.per_second ?? defaults.perSecond,
    parallel: body.parallel ?? defaults.parallel,
    waitMs: Math.round(1_000 * (body.wait_seconds ?? defaults.waitSeconds)),
    bakeMs: Math.round(1_000 * (body.bake_seconds ?? defaults.bakeSeconds)),
    stopAfter: body.stop_after ?? null,
    stopShare: body.stop_share ?? null,
  }
}
