/**
 * @module dashboard/parts/window
 * Which rows of a long table stand in the document: those in view, a few around them, and the one that has focus, which
 * is never taken away from under a person. What lies between is empty space of the right height.
 */

/** Rows beyond each edge, so that a short scroll shows no gap. */
const AROUND = 3

export interface Range {
  readonly first: number
  /** Behind the last. */
  readonly end: number
}

export type Piece =
  | { readonly kind: 'row'; readonly index: number }
  /** `rows`: how many rows high. */
  | { readonly kind: 'space'; readonly before: number; readonly rows: number }

export function rangeOf(scrollTop: number, viewHeight: number, rowHeight: number, count: number): Range {
  const first = Math.min(Math.max(0, Math.floor(scrollTop / rowHeight) - AROUND), Math.max(0, count - 1))
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + AROUND)
  return { first, end: Math.max(first, end) }
}

/** Rows and spaces in order, as high as `count` rows together. @param focused index of a row that stays; -1: none. */
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
