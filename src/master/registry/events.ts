/**
 * @module master/registry/events
 * Publishes changes of workers to the event log (D31, D51). Publishing never delays or fails the change itself, which
 * is already stored. A client that misses an event reads the record.
 *
 * The first event is appended immediately. Further ones are gathered until 50 ms after the last append, the interval in
 * which event streams are woken, so gathering delays no event stream.
 */
import { toSeconds, type EventData, type WorkerEventName } from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { EventGatherer } from './event-gatherer.ts'

const APPEND_EVERY_MS = 50

/** @param changed The changed fields of the record, with their names on the wire; never a config. */
export type Announce = <Name extends WorkerEventName>(
  name: Name,
  ref: Ref,
  changed: Omit<EventData<Name>, 'type' | 'worker_id' | 'ts'>,
) => void

/** Appends the events of this master to the event log. */
export class EventPublisher {
  readonly #deps: MasterDeps
  readonly #mayBatch: () => boolean
  #gathered = new EventGatherer()
  #appendedMs = -Infinity

  /** @param mayBatch Whether every live master reads entries with several events. */
  constructor(deps: MasterDeps, mayBatch: () => boolean) {
    this.#deps = deps
    this.#mayBatch = mayBatch
  }

  readonly announce: Announce = (name, ref, changed) => {
    const { clock, timers } = this.#deps
    if (this.#gathered.isEmpty) {
      const waitMs = this.#appendedMs + APPEND_EVERY_MS - clock.monotonicMs()
      if (waitMs > 0) timers.after(waitMs, () => this.flush())
      else queueMicrotask(() => this.flush())
    }
    const data = JSON.stringify({ type: ref.type, worker_id: ref.id, ts: toSeconds(clock.wallMs()), ...changed })
    this.#gathered.add(name, ref, data, this.#mayBatch())
  }

  /** Appends what was gathered. */
  flush(): void {
    const { backend, clock, log } = this.#deps
    if (this.#gathered.isEmpty) return
    const events = this.#gathered.entries()
    this.#gathered = new EventGatherer()
    this.#appendedMs = clock.monotonicMs()
    backend.events
      .append(events)
      .catch((error: unknown) => log.warn('failed to write events to the event log', { error, events: events.length }))
  }
}
