/**
 * @module storage/contract/streams
 * Defines the output streams: one bounded, append-only list of entries per automation type.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { PerItem } from './common.ts'

/** One entry. */
export interface StreamEntry {
  /** Grows, sorts as text, and is never used again, also not after the stream was emptied. */
  readonly id: string
  /** `{"slot_id":…,"ts":…,"worker_id":…,"payload":…}`, stored as it is. */
  readonly entry: JsonText
}

/**
 * Output streams. A stream that was never written to is empty.
 *
 * `n` is 1 to 10,000. `bytes` bounds the entries of one result, 1 to 32 MiB, 32 MiB if omitted: a result ends early at
 * it, but has at least one entry if there is one (D82).
 */
export interface Streams {
  /**
   * Appends entries, then drops the oldest ones: beyond 50,000 entries, older than one hour, or beyond 256 MiB.
   *
   * @param type The automation type, 1 to 256 characters.
   * @param producer One life of one master.
   * @param seq Grows with every push of a producer. A push whose `seq` is not above the last one of its producer is a
   *   repeat and changes nothing. Producers that have not pushed for long are forgotten.
   * @param entries 1 to 1,000 entries, oldest first.
   * @returns the length of the stream, and how many entries this push dropped.
   * @throws {FleetError} STORAGE_FULL. Nothing was appended.
   *   STORAGE_UNAVAILABLE. Safe to retry with the same producer and `seq`.
   * @see D30, D83
   */
  push(
    type: string,
    producer: string,
    seq: number,
    entries: readonly JsonText[],
  ): Promise<{ readonly length: number; readonly trimmed: number }>
  /**
   * Reads entries without removing them, oldest first.
   *
   * @param type The automation type.
   * @param after Only entries behind this id, compared as text; it need not exist. `null`: the newest `n`, as many of
   *   them as fit into 32 MiB, of which the oldest `bytes` are returned.
   * @param n At most this many entries, 1 to 10,000.
   * @param bytes Ends the result early, 1 to 32 MiB; 32 MiB if omitted.
   * @returns `entries` is empty if there is nothing behind `after`. `gap` is true if entries between `after` and the
   *   first returned one were removed; always false for `null`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D50, D82
   */
  tail(
    type: string,
    after: string | null,
    n: number,
    bytes?: number,
  ): Promise<{ readonly entries: readonly StreamEntry[]; readonly gap: boolean }>
  /**
   * Reads the oldest entries without removing them.
   *
   * @param type The automation type.
   * @param n At most this many entries, 1 to 10,000.
   * @param bytes Ends the result early, 1 to 32 MiB; 32 MiB if omitted.
   * @returns an empty list for an empty stream.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  peek(type: string, n: number, bytes?: number): Promise<readonly StreamEntry[]>
  /**
   * Removes the oldest entries and returns them. Concurrent pops never return the same entry.
   *
   * @param type The automation type.
   * @param n At most this many entries, 1 to 10,000.
   * @param bytes Ends the result early, 1 to 32 MiB; 32 MiB if omitted. Entries that are not returned stay.
   * @returns the removed entries, oldest first; an empty list for an empty stream.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, the entries may be removed and lost; a retry
   *   removes the entries behind them.
   */
  pop(type: string, n: number, bytes?: number): Promise<readonly StreamEntry[]>
  /**
   * Counts the entries of streams.
   *
   * @param types Automation types.
   * @returns 0 for an empty or unknown stream.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  length(types: readonly string[]): PerItem<number>
  /**
   * Counts the bytes of the entries of streams. A push of which some entries were removed may be counted whole.
   *
   * @param types Automation types.
   * @returns bytes; 0 for an empty or unknown stream.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  bytes(types: readonly string[]): PerItem<number>
  /**
   * Drops entries older than one hour, and the oldest ones beyond `maxBytes`. One call drops a bounded part.
   *
   * @param type The automation type.
   * @param maxBytes Bytes that the stream may keep, 0 or more.
   * @returns how many entries were dropped; `more`: call again.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D83
   */
  trim(type: string, maxBytes: number): Promise<{ readonly trimmed: number; readonly more: boolean }>
}
