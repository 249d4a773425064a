/**
 * Checks the event stream, as its clients receive it.
 *
 *   I11  events are ordered, unique, and complete unless the stream says `reset`  (G10)
 */
import type { FeedItem } from '../../../src/client/index.ts'
import { eventsIn, type LoggedEvent } from '../../../src/storage/index.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

/** On the wire an id is `<start of the epoch>.<id in the log>`. */
const logIdOf = (wireId: string): string => wireId.slice(wireId.indexOf('.') + 1)

class EventCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  /** The number of each event, over all logs that the store had. */
  readonly #numbers = new Map<string, number>()
  /** The number of the newest event that each reader has received; null if the next one may be any. */
  readonly #readers = new Map<string, number | null>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  appended(events: readonly LoggedEvent[]): void {
    for (const { id } of events.flatMap(eventsIn)) this.#numbers.set(id, this.#numbers.size)
  }

  fed(reader: string, item: FeedItem): void {
    if (item.kind === 'lost') return
    if (item.kind === 'open') return void (item.isResumed || this.#readers.set(reader, null))
    const number = this.#numbers.get(logIdOf(item.id))
    if (item.name === 'reset') {
      this.#deps.count('event reader lost its place')
      return void this.#readers.set(reader, number ?? null)
    }
    const before = this.#readers.get(reader) ?? null
    if (number === undefined)
      return this.#deps.fail('I11', `${reader} received event ${item.id}, which was never logged`)
    if (before !== null && number !== before + 1)
      this.#deps.fail('I11', `${reader} received event ${number} after event ${before}, without a reset`)
    this.#readers.set(reader, number)
  }
}

export const checkEvents: CreateCheck = (deps) => new EventCheck(deps)
