/**
 * @module storage/contract/audit
 * Defines the audit log: a bounded log of what people and programs have changed, which outlives the masters.
 */
import type { JsonText } from '../../protocol/index.ts'

/** One entry. */
export interface AuditRow {
  /** The number of the entry, 1 or more. It grows with each entry and is never used again. */
  readonly n: number
  readonly entry: JsonText
}

/** The log keeps the newest 10,000 entries. */
export interface AuditLog {
  /**
   * Appends entries in order, then drops the oldest ones beyond 10,000.
   *
   * @param entries At most 500 entries of at most 4,096 characters; an empty list does nothing.
   * @throws {FleetError} STORAGE_FULL. Nothing was appended. STORAGE_UNAVAILABLE. If the outcome is unknown, a retry
   *   may append the entries twice.
   */
  append(entries: readonly JsonText[]): Promise<void>
  /**
   * Reads entries, newest first.
   *
   * @param before The number of an entry: only older ones are listed. Null for the newest ones.
   * @param limit At most this many entries, 1 to 500.
   * @returns an empty list if there are none.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  list(before: number | null, limit: number): Promise<readonly AuditRow[]>
}
