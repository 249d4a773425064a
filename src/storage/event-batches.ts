/**
 * @module storage/event-batches
 * Reads entries of the event log that contain several events of one name and scope (D135), and the points between the
 * events of an entry, where a reader may resume.
 *
 *   entry r-7 with three events      event ids: r-7.1   r-7.2   r-7
 *   read behind r-7.1                r-7 again, with `skipped` 1 and the events r-7.2 and r-7
 *
 * The last event has the id of the entry. So a release that does not know such entries can resume behind one.
 */
import type { JsonText } from '../protocol/index.ts'
import type { LoggedEvent, NewEvent } from './backend.ts'

/** A point of the log: behind an entry, or behind one of the first events in it. */
export interface EventPoint {
  readonly run: string
  /** The number of the entry. */
  readonly number: number
  /** The number of the event in the entry, from 1; 0 is the end of the entry. */
  readonly item: number
}

const POINT = /^(?<run>[0-9a-z]+)-(?<number>\d{1,15})(?:\.(?<item>[1-9]\d{0,3}))?$/

/** @returns the point that the id of an event names; null if it is no such id. */
export function pointOf(id: string): EventPoint | null {
  const groups = POINT.exec(id)?.groups
  if (groups === undefined) return null
  return { run: groups['run'] ?? '', number: Number(groups['number']), item: Number(groups['item'] ?? 0) }
}

/** @returns the data of each event of an entry, in order. */
export const itemsOf = ({ data, more = [] }: NewEvent): readonly JsonText[] => [data, ...more]

/** @returns the events of an entry, each with its own id. */
export function eventsIn(entry: LoggedEvent): readonly { readonly id: string; readonly data: JsonText }[] {
  const { id, skipped = 0 } = entry
  const items = itemsOf(entry)
  return items.map((data, at) => ({ id: at === items.length - 1 ? id : `${id}.${skipped + at + 1}`, data }))
}

/**
 * @param item How many events a reader already has.
 * @returns the entry with the other events; null if the entry has no event behind that number.
 */
export function restOf({ id, name, scope, ...entry }: LoggedEvent, item: number): LoggedEvent | null {
  const [data, ...more] = itemsOf({ name, scope, ...entry }).slice(item)
  if (data === undefined) return null
  return { id, name, scope, data, ...(more.length > 0 && { more }), skipped: item }
}
