/**
 * @module master/http/not-after
 * Refuses a change that arrives after the time in its header `muster-not-after`. Example: replica A of the operator
 * sends a change, and a proxy delays it. A's lease expires and replica B becomes the leader. The change then arrives
 * with the end of A's lease in its header, and gets 412.
 * @see D150
 */
import { FleetError, toMs, toSeconds } from '../../protocol/index.ts'

export const NOT_AFTER = 'muster-not-after'
const SECONDS = /^\d{1,11}(?:\.\d{1,3})?$/

/**
 * Checks the header of a change.
 * @param value The header; `undefined` permits the change at any time. A header that was sent twice is malformed.
 * @param nowMs Wall-clock time of this master.
 * @throws {FleetError} BAD_REQUEST if it is malformed, STALE_GENERATION after its time.
 */
export function checkNotAfter(value: string | readonly string[] | undefined, nowMs: number): void {
  if (value === undefined) return
  if (typeof value !== 'string' || !SECONDS.test(value))
    throw new FleetError(
      'BAD_REQUEST',
      `the header ${NOT_AFTER} must be unix seconds with at most 3 decimals, for example 1764374400.5`,
    )
  if (nowMs <= toMs(Number(value))) return
  throw new FleetError(
    'STALE_GENERATION',
    `this change was valid until ${value}, and it is ${toSeconds(nowMs)} at the master; nothing was changed`,
  )
}
