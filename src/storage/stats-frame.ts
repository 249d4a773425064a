/**
 * @module storage/stats-frame
 * Statistics frames as the backends keep them: reads the time of a frame without parsing the whole of it, since a frame
 * may hold hundreds of metrics, and shortens a large frame for the history.
 */
import { MAX_RING_FRAME_BYTES, type JsonObject } from '../protocol/index.ts'

const LEADING_NUMBERS = /^\{"slots":[^,]+,"cpu_pct":[^,]+,"rss_mb":[^,]+,"ts":(?<ts>[^,}]+)/

/** @returns seconds; 0 for a frame without a time. */
export function timeOfFrame(frame: string): number {
  const leading = LEADING_NUMBERS.exec(frame)?.groups?.['ts']
  if (leading !== undefined) return Number(leading)
  const { ts } = JSON.parse(frame) as { readonly ts?: unknown }
  return typeof ts === 'number' ? ts : 0
}

/**
 * @returns the frame as the history keeps it: a large one without `per_slot`, and with empty `metrics` if it is still
 * large (D84).
 */
export function ringFrame(frame: string): string {
  if (isSmall(frame)) return frame
  const { per_slot: _, ...rest } = JSON.parse(frame) as JsonObject
  const withoutSlots = JSON.stringify(rest)
  return isSmall(withoutSlots) ? withoutSlots : JSON.stringify({ ...rest, metrics: {} })
}

const isSmall = (text: string): boolean => Buffer.byteLength(text) <= MAX_RING_FRAME_BYTES
