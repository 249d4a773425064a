/**
 * @module dashboard/overview/held-rows
 * Keeps the rows of the attention list in their places while the pointer or the focus is in it: a row that is solved
 * stays, marked as solved, and a new one is added at the end.
 */
import { keyOf } from '../../diagnosis/index.ts'
import type { Attention } from '../diagnosis/attention.ts'

export interface HeldRow {
  readonly item: Attention
  /** The problem is solved or acknowledged; the row stays until the pointer leaves the list. */
  readonly isGone: boolean
}

const rowOf = (item: Attention): HeldRow => ({ item, isGone: false })

/** @param shown The rows before. @param isHeld Whether they keep their places. */
export function heldRows(shown: readonly HeldRow[], fresh: readonly Attention[], isHeld: boolean): readonly HeldRow[] {
  if (!isHeld || shown.length === 0) return fresh.map(rowOf)
  const byKey = new Map(fresh.map((item) => [keyOf(item), item]))
  const kept = shown.map((row): HeldRow => {
    const item = byKey.get(keyOf(row.item))
    byKey.delete(keyOf(row.item))
    return item === undefined ? { ...row, isGone: true } : rowOf(item)
  })
  return [...kept, ...[...byKey.values()].map(rowOf)]
}
