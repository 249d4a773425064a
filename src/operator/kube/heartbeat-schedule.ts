/**
 * @module operator/kube/heartbeat-schedule
 * Decides when the status of an object is written as a heartbeat. Every object has a fixed offset in the period,
 * derived from its uid, so the heartbeats of many objects are spread evenly and a restart does not move them.
 */
const MIN_PERIOD_MS = 60_000
/** Rounding of a floating-point number must not skip a period. */
const ROUNDING = 1e-6

/** @returns the period in which `objects` heartbeats fit at `perSecond`, 60 s at least. */
export const heartbeatPeriodMs = (objects: number, perSecond: number): number =>
  Math.max(MIN_PERIOD_MS, (objects * 1_000) / perSecond)

export interface HeartbeatTimes {
  readonly uid: string
  readonly periodMs: number
  /** When the writer started. The first heartbeat is due one period later. */
  readonly startedMs: number
  /** When the object was written last; 0: never. */
  readonly writtenMs: number
}

/** @returns when the next heartbeat of the object is due: a full period after its last write, or later. */
export function nextHeartbeatMs({ uid, periodMs, startedMs, writtenMs }: HeartbeatTimes): number {
  const earliestMs = Math.max(startedMs, writtenMs) + periodMs
  const placeMs = startedMs + share(uid) * periodMs
  return placeMs + Math.ceil((earliestMs - placeMs) / periodMs - ROUNDING) * periodMs
}

/** @returns a number in [0, 1), always the same for a uid and evenly spread (FNV-1a). */
function share(uid: string): number {
  let hash = 0x811c9dc5
  for (const char of uid) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash / 2 ** 32
}
