/**
 * @module cmd/audit-sink
 * Writes the audit lines of `muster master` to a stream, normally stdout. Lines are always JSON and do not depend on
 * the log level. If the reader is too slow, lines are dropped instead of slowing down the API.
 */
import type { Writable } from 'node:stream'
import type { AuditClass, AuditOptions } from '../master/index.ts'

const MAX_BUFFERED_BYTES = 1_048_576

/** @returns audit options whose `write` returns false when a line was dropped, because more than 1 MiB is buffered. */
export function auditTo(stream: Writable, classes: ReadonlySet<AuditClass>): AuditOptions {
  return {
    classes,
    write: (line) => {
      if (!stream.writable || stream.writableLength > MAX_BUFFERED_BYTES) return false
      stream.write(`${line}\n`)
      return true
    },
  }
}
