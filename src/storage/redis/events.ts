/**
 * @module storage/redis/events
 * The event log that all masters of a store share, under `{ev}`:
 *
 *   log  LIST  the newest entries as JSON, at most 10,000 and 16 MiB; the number of the oldest is `last` − LLEN + 1
 *   h    HASH  last: number of the newest · run: first part of every id · life: the life of the store that run began in
 *              bytes: size of the entries up to number `counted`, which an older release does not write
 *
 * An entry is `[name, scope, data]`, with several events `["reset", scope, "{}", name, [data, …]]` (D135). A release
 * that does not know the second form reads it as `reset`, so its clients list the current state again and miss nothing.
 *
 * Ids are `<run>-<number>`. A store that was restarted may have lost numbers it had given out, so the first append
 * after that begins a new run with an empty log: a read from an id before it returns `reset`, and is never taken for
 * another event's.
 *
 * An append notifies its own listeners as soon as they have received everything before it; otherwise, and for other
 * masters, the channel `ev` brings it. Numbers make gaps visible: what a lost message would have brought is read from
 * the log, and when that is gone too, listeners get an event `reset` in its place.
 */
import type { Log } from '../../runtime/index.ts'
import { itemsOf, pointOf, restOf, type EventLog, type EventReadResult, type LoggedEvent } from '../index.ts'
import type { NewEvent } from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import { eventsKey } from './keys.ts'
import { script } from './script.ts'

const PAGE = 1_000
const KEYS = [eventsKey('log'), eventsKey('h')]
export const EVENTS_CHANNEL = 'ev'

const APPEND = script('events.append')
const READ = script('events.read')
const STATE = script('events.state')

export interface EventLogDeps {
  readonly caller: Caller
  /** A text that no other append draws. */
  readonly draw: () => string
  readonly log?: Log | undefined
}

type Listener = (events: readonly LoggedEvent[]) => void

export class RedisEventLog implements EventLog {
  readonly #deps: EventLogDeps
  readonly #listeners = new Set<Listener>()
  /** The newest event that listeners have received. */
  #run = ''
  #last = 0
  #catching: Promise<void> | null = null
  #isBehind = false

  constructor(deps: EventLogDeps) {
    this.#deps = deps
  }

  /** Begins to tell from here on. */
  async open(): Promise<void> {
    const [run, last] = (await this.#deps.caller.run(STATE, KEYS, [], { repeatable: true })) as readonly [
      string,
      number,
    ]
    this.#run = run
    this.#last = last
  }

  async append(events: readonly NewEvent[]): Promise<void> {
    if (events.length === 0) return
    const { caller, draw } = this.#deps
    const entries = events.map(entryText)
    const [run, first] = (await caller.run(APPEND, KEYS, [
      caller.channel(EVENTS_CHANNEL),
      caller.runId(),
      draw(),
      ...entries,
    ])) as readonly [string, number]
    this.#arrived(run, first, events)
  }

  async read(after: string, limit: number): Promise<EventReadResult> {
    const point = after === '' ? { run: '', number: 0, item: 0 } : pointOf(after)
    if (point === null) return { kind: 'reset' }
    const { run, number, item } = point
    const isWithin = item > 0
    const page = await this.#page(run, isWithin ? number - 1 : number, limit)
    if (page === null) return { kind: 'reset' }
    if (!isWithin) return { kind: 'events', events: page.events }
    const [entry, ...events] = page.events
    const rest = entry?.id === idOf(run, number) ? restOf(entry, item) : null
    return rest === null ? { kind: 'reset' } : { kind: 'events', events: [rest, ...events] }
  }

  onAppend(on: Listener): () => void {
    const listener: Listener = (events) => on(events)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  newest(): string {
    return idOf(this.#run, this.#last)
  }

  /** A message of the channel. */
  receive(text: string): void {
    const match = /^(?<run>[0-9a-z]+) (?<first>\d{1,16}) (?<entries>\[.*\])$/s.exec(text)
    const entries = match === null ? null : entriesOf(match.groups?.['entries'] ?? '')
    if (entries === null) this.#deps.log?.warn('ignored an invalid message on the event channel')
    else this.#arrived(match?.groups?.['run'] ?? '', Number(match?.groups?.['first']), entries)
  }

  /**
   * Reads events that were missed and notifies listeners: after the channel was disconnected, or if a number is
   * missing.
   */
  catchUp(): Promise<void> {
    this.#isBehind = true
    this.#catching ??= this.#catchUp()
    return this.#catching
  }

  #arrived(run: string, first: number, events: readonly NewEvent[]): void {
    if (run === this.#run && first + events.length - 1 <= this.#last) return // Already received.
    const isNext = run === this.#run ? first === this.#last + 1 : this.#run === '' && first === 1
    if (this.#catching === null && isNext) this.#tell(run, first, events)
    else void this.catchUp() // Also if a new run begins: the last events of the old one may have been missed.
  }

  /** What arrives while it reads is read as well. */
  async #catchUp(): Promise<void> {
    try {
      while (this.#isBehind) {
        this.#isBehind = false
        await this.#readOn()
      }
    } catch (error) {
      this.#deps.log?.warn('could not read missed events; retrying at the next event', { error })
    } finally {
      this.#catching = null
    }
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const page = await this.#page(this.#run, this.#last, PAGE)
      if (page === null) await this.#restart()
      else if (page.events.length === 0) return
      else this.#tell(page.run, page.first, page.events)
    }
  }

  /** What was missed is gone. */
  async #restart(): Promise<void> {
    await this.open()
    this.#call([{ id: this.newest(), name: 'reset', scope: '*', data: '{}' }])
  }

  async #page(
    run: string,
    after: number,
    limit: number,
  ): Promise<{ readonly run: string; readonly first: number; readonly events: readonly LoggedEvent[] } | null> {
    const reply = (await this.#deps.caller.run(READ, KEYS, [run, after, limit], { repeatable: true })) as
      readonly [string, number, readonly Reply[]] | null
    if (reply === null) return null
    const [current, first, entries] = reply
    return {
      run: current,
      first,
      events: entries.flatMap(
        (entry, i) =>
          entriesOf(`[${String(entry)}]`)?.map((event) => ({ id: idOf(current, first + i), ...event })) ?? [],
      ),
    }
  }

  #tell(run: string, first: number, events: readonly NewEvent[]): void {
    this.#run = run
    this.#last = first + events.length - 1
    this.#call(events.map((event, i) => ({ ...event, id: idOf(run, first + i) })))
  }

  #call(events: readonly LoggedEvent[]): void {
    for (const listener of this.#listeners) listener(events)
  }
}

/** A log that nothing was appended to has no run. */
const idOf = (run: string, number: number): string => (run === '' ? '' : `${run}-${number}`)

function entryText(event: NewEvent): string {
  const { name, scope, data, more } = event
  return JSON.stringify(more === undefined ? [name, scope, data] : ['reset', scope, '{}', name, itemsOf(event)])
}

type StoredEntry = readonly [name: string, scope: string, data: string, batchOf?: string, items?: readonly string[]]

function eventOf([name, scope, data, batchOf, items]: StoredEntry): NewEvent {
  if (batchOf === undefined || items === undefined) return { name, scope, data }
  const [first = data, ...more] = items
  return { name: batchOf, scope, data: first, more }
}

function entriesOf(text: string): NewEvent[] | null {
  try {
    return (JSON.parse(text) as readonly StoredEntry[]).map(eventOf)
  } catch {
    return null
  }
}
