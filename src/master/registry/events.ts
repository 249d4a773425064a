/**
 * @module master/registry/events
 * Publishes changes of workers to the event log (D31, D51). Publishing never delays or fails the change itself, which
 * is already stored. A client that misses an event reads the record.
 */
import { toSeconds, type EventData, type WorkerEventName } from '../../protocol/index.ts'
import type { NewEvent, Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'

/** @param changed The changed fields of the record, with their names on the wire; never a config. */
export type Announce = <Name extends WorkerEventName>(
  name: Name,
  ref: Ref,
  changed: Omit<EventData<Name>, 'type' | 'worker_id' | 'ts'>,
) => void

export function createAnnounce({ backend, clock, log }: MasterDeps): Announce {
  let waiting: NewEvent[] = []
  const flush = (): void => {
    const events = waiting
    waiting = []
    backend.events
      .append(events)
      .catch((error: unknown) => log.warn('failed to write events to the event log', { error, events: events.length }))
  }
  return (name, { type, id }, changed) => {
    if (waiting.length === 0) queueMicrotask(flush)
    const data = JSON.stringify({ type, worker_id: id, ts: toSeconds(clock.wallMs()), ...changed })
    waiting.push({ name, scope: type, data })
  }
}
