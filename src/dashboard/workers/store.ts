/**
 * @module dashboard/workers/store
 * All workers of the token's types, in memory: ten thousand rows are too many for a cache of answers that are replaced.
 *
 *   pages, one after another ──▶ rows ◀── events, in batches
 *           └── the last page of a round: what the round did not find, and no event brought since, is gone
 *
 * Rows are replaced, never changed, so that a row that is the same object is the same row. `version` grows with each
 * change. An answer may be older than an event that came while it was on its way: what the event told stays.
 */
import type { FleetEvent } from '../api/feed.ts'
import { inheritText } from './filter.ts'
import { keyOf, type WorkerRow } from './row.ts'

export interface Snapshot {
  readonly version: number
  readonly rows: ReadonlyMap<string, WorkerRow>
  /** Types of which a whole round was read. */
  readonly whole: ReadonlySet<string>
}

/** Fields of an event that are fields of the record. */
const FIELDS = [
  'state',
  'connected',
  'draining',
  'last_error',
  'config_gen',
  'config_changed_at',
  'config_changed_by',
  'applied_config_gen',
  'managed_by',
] as const
/** Those whose change starts a new `state_since`. */
const STATE_FIELDS = ['state', 'connected'] as const

export class WorkerStore {
  readonly #rows = new Map<string, WorkerRow>()
  /** In which round each was last seen. */
  readonly #seen = new Map<string, number>()
  readonly #rounds = new Map<string, number>()
  readonly #whole = new Set<string>()
  /** By worker, at which turn an event told of it last; only of turns that an answer on its way may have missed. */
  readonly #told = new Map<string, number>()
  #turn = 0
  readonly #watchers = new Set<() => void>()
  #snapshot: Snapshot = { version: 0, rows: this.#rows, whole: this.#whole }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  readonly snapshot = (): Snapshot => this.#snapshot

  /** Begins a round of the type; its number goes with each of its pages. */
  beginRound(type: string): number {
    const round = (this.#rounds.get(type) ?? 0) + 1
    this.#rounds.set(type, round)
    return round
  }

  /** What events have told so far; to be noted when an answer is asked for, and given with it. */
  get turn(): number {
    return this.#turn
  }

  takePage(type: string, round: number, rows: readonly WorkerRow[], isLast: boolean, since = this.#turn): void {
    for (const row of rows) this.#take(row, round, since)
    for (const [key, turn] of this.#told) if (turn <= since) this.#told.delete(key) // The next page is asked for later still.
    if (isLast) {
      this.#whole.add(type)
      for (const [key, row] of this.#rows)
        if (row.automation_type === type && (this.#seen.get(key) ?? 0) < round) this.#drop(key)
    }
    this.#changed()
  }

  takeOne(row: WorkerRow, since = this.#turn): void {
    this.#take(row, this.#rounds.get(row.automation_type) ?? 0, since)
    this.#changed()
  }

  remove(keys: readonly string[]): void {
    for (const key of keys) this.#drop(key)
    this.#changed()
  }

  /** Answers the workers that are not known yet, and have to be read. */
  apply(events: readonly FleetEvent[]): readonly { readonly type: string; readonly id: string }[] {
    const unknown = new Map<string, { readonly type: string; readonly id: string }>()
    this.#turn += 1
    for (const { name, data } of events) {
      const { type, worker_id: id } = data
      if (!name.startsWith('worker.') || type === undefined || id === undefined) continue
      const key = keyOf({ automation_type: type, worker_id: id })
      const row = this.#rows.get(key)
      if (row !== undefined) this.#told.set(key, this.#turn)
      if (name === 'worker.forgotten') {
        this.#drop(key)
        unknown.delete(key)
        continue
      }
      if (row === undefined || name === 'worker.registered')
        unknown.set(key, { type, id }) // A new registration changes more than the event says.
      else this.#put(patched(row, data), this.#rounds.get(type) ?? 0)
    }
    if (events.length > 0) this.#changed()
    return [...unknown.values()]
  }

  #take(row: WorkerRow, round: number, since: number): void {
    const key = keyOf(row)
    const known = this.#rows.get(key)
    if ((this.#told.get(key) ?? 0) <= since) this.#put(row, round)
    else if (known !== undefined) this.#put(withTold(row, known), round) // Else it was forgotten meanwhile.
  }

  #put(row: WorkerRow, round: number): void {
    const key = keyOf(row)
    const before = this.#rows.get(key)
    if (before !== undefined) inheritText(before, row)
    this.#rows.set(key, row)
    this.#seen.set(key, round)
  }

  #drop(key: string): void {
    this.#rows.delete(key)
    this.#seen.delete(key)
  }

  #changed(): void {
    this.#snapshot = { ...this.#snapshot, version: this.#snapshot.version + 1 }
    for (const each of this.#watchers) each()
  }
}

function patched(row: WorkerRow, data: FleetEvent['data']): WorkerRow {
  const changes: Record<string, unknown> = {}
  for (const field of FIELDS) if (field in data) changes[field] = data[field]
  const isNewState = STATE_FIELDS.some((field) => field in changes && changes[field] !== row[field])
  return {
    ...row,
    ...changes,
    ...(isNewState && data.ts !== undefined ? { state_since: data.ts } : {}),
    ...(changes['connected'] === true ? { last_seen: Math.max(row.last_seen, data.ts ?? 0) } : {}),
  }
}

/** The answer, with what events told of the worker while it was on its way. */
function withTold(row: WorkerRow, known: WorkerRow): WorkerRow {
  return { ...row, ...Object.fromEntries([...FIELDS, 'state_since' as const].map((field) => [field, known[field]])) }
}
