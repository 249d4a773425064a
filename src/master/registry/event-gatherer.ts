/**
 * @module master/registry/event-gatherer
 * Gathers events of workers for one append to the event log. Events of the same name and type share an entry (D135), so
 * that a change of ten thousand workers does not push everything else out of the log.
 *
 *   w1 connected, w1 state, w2 connected, w2 state   ▶   connected [w1, w2], state [w1, w2]
 *   w1 connected, w1 disconnected, w1 connected      ▶   connected [w1], disconnected [w1], connected [w1]
 *
 * The events of one worker keep their order: an event joins an entry only if no later entry has one of its worker.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { NewEvent, Ref } from '../../storage/index.ts'

/** Limits of an entry with several events. A client that resumes reads one whole, and a stream sends one whole. */
const MAX_ITEMS = 500
const MAX_CHARS = 65_536

interface Entry {
  readonly name: string
  readonly scope: string
  readonly items: JsonText[]
  chars: number
}

export class EventGatherer {
  readonly #entries: Entry[] = []
  /** By name and type, the position of the entry that takes further events. */
  readonly #open = new Map<string, number>()
  /** By worker, the position of the last entry that has an event of it. */
  readonly #last = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** @param mayJoin Whether the event may share an entry with others. */
  add(name: string, { type, id }: Ref, data: JsonText, mayJoin: boolean): void {
    const kind = `${name} ${type}`
    const worker = `${type}/${id}`
    const open = mayJoin ? this.#openEntry(kind, data, this.#last.get(worker) ?? 0) : null
    const at = open ?? this.#entries.push({ name, scope: type, items: [], chars: 0 }) - 1
    const entry = this.#entries[at]
    entry?.items.push(data)
    if (entry !== undefined) entry.chars += data.length
    this.#open.set(kind, at)
    this.#last.set(worker, at)
  }

  /** @returns the gathered entries, in order. */
  entries(): readonly NewEvent[] {
    return this.#entries.map(({ name, scope, items: [data = '', ...more] }) => ({
      name,
      scope,
      data,
      ...(more.length > 0 && { more }),
    }))
  }

  /** The position of the entry that the event may join; null if there is none. */
  #openEntry(kind: string, data: JsonText, notBefore: number): number | null {
    const at = this.#open.get(kind)
    const entry = at === undefined ? undefined : this.#entries[at]
    if (at === undefined || entry === undefined || at < notBefore) return null
    const hasRoom = entry.items.length < MAX_ITEMS && entry.chars + data.length <= MAX_CHARS
    return hasRoom ? at : null
  }
}
