/**
 * @module storage/contract/events
 * Defines the event log: a bounded log of changes, which masters read to serve `GET /api/v1/events` (D31).
 */
import type { JsonText } from '../../protocol/index.ts'

/** One change, or several of the same name and scope that were recorded together (D135). */
export interface NewEvent {
  /** For example `worker.state`. */
  readonly name: string
  /** The automation type that the event belongs to. */
  readonly scope: string
  readonly data: JsonText
  /** The data of the further changes, at most 499, in order. Omitted if there are none. */
  readonly more?: readonly JsonText[]
}

/** One entry of the log. */
export interface LoggedEvent extends NewEvent {
  /**
   * Unique; opaque to clients, which send it back as `Last-Event-ID`. It is the id of the last change in the entry; the
   * k-th change before it has the id `<id>.<k>`, from 1.
   */
  readonly id: string
  /** How many changes of the entry were left out because the reader has them. Omitted for none. */
  readonly skipped?: number
}

/**
 * Events behind a point of the log. `reset`: that point is not in the log any more, or never was, so events may be
 * missing; list the current state again.
 */
export type EventReadResult =
  { readonly kind: 'events'; readonly events: readonly LoggedEvent[] } | { readonly kind: 'reset' }

/** The log keeps the newest 10,000 entries and at most 16 MiB, the newest one in any case (D84). */
export interface EventLog {
  /**
   * Appends entries in order.
   *
   * @param events An empty list does nothing.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, a retry may append the events twice.
   */
  append(events: readonly NewEvent[]): Promise<void>
  /**
   * Reads events behind a point of the log, oldest first.
   *
   * @param after The id of an event, also of one within an entry; `''` is the point before the first event.
   * @param limit At most this many entries, 1 or more.
   * @returns `events` is empty if there is nothing newer.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D31
   */
  read(after: string, limit: number): Promise<EventReadResult>
  /**
   * Calls `on` with new events, in the order of the log.
   *
   * @param on The listener. It must not throw.
   * @returns a function that removes the listener. It may be called again.
   */
  onAppend(on: (events: readonly LoggedEvent[]) => void): () => void
  /**
   * Returns where listeners are in the log, without I/O.
   *
   * @returns the id of the newest event that listeners have received. They receive every later one.
   */
  newest(): string
}
