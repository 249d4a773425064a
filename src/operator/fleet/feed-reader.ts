/**
 * @module operator/fleet/feed-reader
 * Applies the event feed of the master to the table. The feed opens before the lists start, so no change is missed.
 * When the feed cannot resume after its last event, everything is listed again.
 */
import type { FeedItem, MasterError } from '../../client/index.ts'
import { singleEvents } from '../../protocol/event-stream/index.ts'
import { EVENTS, type WorkerEventName } from '../../protocol/index.ts'
import type { EventFields } from './records.ts'

export interface FeedReaderDeps {
  readonly events: (signal: AbortSignal) => AsyncIterable<FeedItem>
  readonly onOpen: (epoch: string) => void
  readonly onLost: (error: MasterError) => void
  /** Events were lost since the last one received. */
  readonly onGap: () => void
  readonly onEvent: (name: WorkerEventName, type: string, workerId: string, fields: EventFields) => void
}

export class FeedReader {
  readonly #deps: FeedReaderDeps
  #isLive = false

  constructor(deps: FeedReaderDeps) {
    this.#deps = deps
  }

  get isLive(): boolean {
    return this.#isLive
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { events, onGap, onLost, onOpen } = this.#deps
    for await (const item of events(signal)) {
      if (item.kind === 'lost') {
        this.#isLive = false
        onLost(item.error)
      } else if (item.kind === 'open') {
        this.#isLive = true
        onOpen(item.epoch)
        if (!item.isResumed) onGap()
      } else if (item.name === 'reset') {
        onGap()
      } else {
        for (const { name, data } of singleEvents(item)) this.#event(name, data)
      }
    }
  }

  #event(name: string, data: EventFields): void {
    const { type, worker_id: workerId } = data
    if (!isWorkerEvent(name) || typeof type !== 'string' || typeof workerId !== 'string') return
    this.#deps.onEvent(name, type, workerId, data)
  }
}

const isWorkerEvent = (name: string): name is WorkerEventName =>
  name.startsWith('worker.') && Object.hasOwn(EVENTS, name)
