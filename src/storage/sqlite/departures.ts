/**
 * @module storage/sqlite/departures
 * Texts of the columns `drained` and `departure` of a worker (D195). A program that does not know them leaves those of
 * an earlier drain or connection, so each names the value of another column at the time when it was written.
 */
import type { ConnectionEnd, Departure, DrainRequest } from '../index.ts'

type DrainedText = readonly [sinceMs: number, atMs: number, actor: string]
type DepartureText = readonly [
  seenMs: number,
  atMs: number,
  wasDraining: boolean,
  drain: DrainRequest | null,
  ConnectionEnd,
]

/** @param sinceMs `since` of the row, which changes when the drain ends. */
export const drainedText = (sinceMs: number, { atMs, actor }: DrainRequest): string =>
  JSON.stringify([sinceMs, atMs, actor] satisfies DrainedText)

/** @returns null if the row has been changed since. */
export function drainRequestOf(text: string | null, sinceMs: number): DrainRequest | null {
  if (text === null) return null
  const [validSince, atMs, actor] = JSON.parse(text) as DrainedText
  return validSince === sinceMs ? { atMs, actor } : null
}

/** @param seenMs `seen` of the row, which changes when a worker registers. */
export function departureText(seenMs: number, { atMs, wasDraining, drain, by, code, reason }: Departure): string {
  return JSON.stringify([seenMs, atMs, wasDraining, drain, { by, code, reason }] satisfies DepartureText)
}

/** @returns null if a worker has registered since. */
export function departureOf(text: string | null, seenMs: number): Departure | null {
  if (text === null) return null
  const [validSeen, atMs, wasDraining, drain, end] = JSON.parse(text) as DepartureText
  return validSeen === seenMs ? { ...end, atMs, wasDraining, drain } : null
}
