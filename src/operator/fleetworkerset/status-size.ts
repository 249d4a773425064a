/**
 * @module operator/fleetworkerset/status-size
 * Limits the status of a set to 64 KiB, in bytes as the API server stores it. The bounds of the schema count
 * characters, of which one takes up to six bytes: an id of 256 characters of a worker takes up to 1,024 bytes.
 *
 *   messages   are cut to as many bytes as the schema permits characters, so no text of others takes more than ASCII
 *   worker ids cannot be cut, so the lists that name workers are shortened, the longest one first
 */
import { Buffer } from 'node:buffer'
import { cleanText } from '../config/index.ts'
import type { FleetWorkerSetStatus } from './schema.ts'

const MAX_STATUS_BYTES = 65_535
const ELLIPSIS = '…'
/** Of a UTF-16 code unit, when it is escaped. */
const MAX_UNIT_BYTES = 6

/** The encoder of the API server escapes these, since they matter in HTML or in JavaScript. */
const ESCAPED = /[<>&\u2028\u2029]/g

const bytesOf = (value: unknown): number =>
  Buffer.byteLength(JSON.stringify(value).replaceAll(ESCAPED, String.raw`\u0000`))
const textBytes = (text: string): number => bytesOf(text) - 2

/** Cuts to at most `maxBytes` bytes on one line; text that was cut ends in an ellipsis. */
export function fitText(text: string, maxBytes: number): string {
  const cleaned = cleanText(text, maxBytes)
  if (cleaned.length * MAX_UNIT_BYTES <= maxBytes || textBytes(cleaned) <= maxBytes) return cleaned
  let leftBytes = maxBytes - Buffer.byteLength(ELLIPSIS)
  let end = 0
  for (const character of cleaned) {
    leftBytes -= textBytes(character)
    if (leftBytes < 0) break
    end += character.length
  }
  return `${cleaned.slice(0, end)}${ELLIPSIS}`
}

/** @returns the status, naming as many workers as there is space for. */
export function withinStatusSize(status: FleetWorkerSetStatus): FleetWorkerSetStatus {
  let { worst = [], drift } = status
  let excess = bytesOf(status) - MAX_STATUS_BYTES
  while (excess > 0 && worst.length + (drift?.workers?.length ?? 0) > 0) {
    const { workers = [] } = drift ?? {}
    const isWorstLonger = bytesOf(worst) >= bytesOf(workers)
    excess -= bytesOf(isWorstLonger ? worst.at(-1) : workers.at(-1)) + 1
    if (isWorstLonger) worst = worst.slice(0, -1)
    else drift = { ...drift, workers: workers.slice(0, -1) }
  }
  return { ...status, ...(status.worst && { worst }), ...(drift && { drift }) }
}
