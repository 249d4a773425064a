/**
 * @module dashboard/components/window
 * Computes which rows of a virtual table are in the document: the visible rows, a few around them, and the focused row.
 * Spacers of the right height replace all other rows.
 */

/** Overscan: extra rows beyond each edge, so that short scrolls show no gap. */
const AROUND = 3

export interface Range {
  readonly first: number
  /** Index after the last row. */
  readonly end: number
}

export type Piece =
  | { readonly kind: 'row'; readonly index: number }
  /** @property rows Height in rows. */
  | { readonly kind: 'space'; readonly before: number; readonly rows: number }

export function rangeOf(scrollTop: number, viewHeight: number, rowHeight: number, count: number): Range {
  const first = Math.min(Math.max(0, Math.floor(scrollTop / rowHeight) - AROUND), Math.max(0, count - 1))
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + AROUND)
  return { first, end: Math.max(first, end) }
}

/**
 * @param focused Index of the focused row, which is always included; -1 if none.
 * @returns rows and spacers in order; their total height is `count` rows.
 */
export function piecesOf({ first, end }: Range, count: number, focused: number): readonly Piece[] {
  const indexes: number[] = []
  if (focused >= 0 && focused < first) indexes.push(focused)
  for (let index = first; index < Math.min(end, count); index += 1) indexes.push(index)
  if (focused >= end && focused < count) indexes.push(focused)
  const pieces: Piece[] = []
  let next = 0
  for (const index of indexes) {
    if (index > next) pieces.push({ kind: 'space', before: index, rows: index - next })
    pieces.push({ kind: 'row', index })
    next = index + 1
  }
  if (next < count) pieces.push({ kind: 'space', before: count, rows: count - next })
  return pieces
}
