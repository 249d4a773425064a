/**
 * @module dashboard/workers/store
 * Stores all workers of the token's types in memory. A query cache would replace 10,000 rows on every response.
 *
 *   pages, one after another ──▶ rows ◀── events, in batches
 *           └── the last page of a round removes the workers that neither the round nor an event has seen
 *
 * Rows are immutable: a changed row is a new object, an unchanged row stays the same object. `version` increases with
 * each change. A response may be older than an event that arrived after the request. The event's values win.
 */
import type { FleetEvent } from '../api/feed.ts'
import { inheritText } from './filter.ts'
import type { Heartbeat } from './from-columns.ts'
import { keyOf, type WorkerRow } from './row.ts'

export interface Snapshot {
  readonly version: number
  readonly rows: ReadonlyMap<string, WorkerRow>
  /** Types of which all pages have been read. */
  readonly whole: ReadonlySet<string>
}

/** Fields that an event and the record have in common. */
const FIELDS = [
  'state',
  'connected',
  'draining',
  'ended',
  'departure',
  'last_error',
  'config_gen',
  'config_changed_at',
  'config_changed_by',
  'applied_config_gen',
  'managed_by',
  'labels',
] as const
/** A change of one of these fields sets `state_since`. */
const STATE_FIELDS = ['state', 'connected'] as const

export class WorkerStore {
  readonly #rows = new Map<string, WorkerRow>()
  /** The round in which each worker was last seen, by key. */
  readonly #seen = new Map<string, number>()
  readonly #rounds = new Map<string, number>()
  readonly #whole = new Set<string>()
  /** The turn of the last event of a worker, by key. Entries that no pending response can miss are removed. */
  readonly #changedAt = new Map<string, number>()
  #turn = 0
  readonly #watchers = new Set<() => void>()
  #snapshot: Snapshot = { version: 0, rows: this.#rows, whole: this.#whole }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  readonly snapshot = (): Snapshot => this.#snapshot

  /** Starts a round of the type. @returns its number, which `takePage` expects */
  beginRound(type: string): number {
    const round = (this.#rounds.get(type) ?? 0) + 1
    this.#rounds.set(type, round)
    return round
  }

  /** Number of event batches so far. Read it before a request and pass it on with the response. */
  get turn(): number {
    return this.#turn
  }

  takePage(type: string, round: number, rows: readonly WorkerRow[], isLast: boolean, since = this.#turn): void {
    for (const row of rows) this.#take(row, round, since)
    // Later requests start after this turn.
    for (const [key, turn] of this.#changedAt) if (turn <= since) this.#changedAt.delete(key)
    if (isLast) {
      this.#whole.add(type)
      for (const [key, row] of this.#rows)
        if (row.automation_type === type && (this.#seen.get(key) ?? 0) < round) this.#drop(key)
    }
    this.#changed()
  }

  /** Takes changed rows, the keys of forgotten workers, and heartbeats, which change known rows only. */
  takeChanges(rows: readonly WorkerRow[], forgotten: readonly string[], heartbeats: readonly Heartbeat[]): void {
    for (const row of rows) this.#put(row, this.#rounds.get(row.automation_type) ?? 0)
    for (const key of forgotten) this.#drop(key)
    for (const { key, ...heartbeat } of heartbeats) {
      const row = this.#rows.get(key)
      if (row === undefined || !row.connected || heartbeat.last_seen < row.last_seen) continue
      this.#put({ ...row, ...heartbeat }, this.#seen.get(key) ?? 0)
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

  /** Applies events. @returns the workers that have to be read because they are unknown or registered again */
  apply(events: readonly FleetEvent[]): readonly { readonly type: string; readonly id: string }[] {
    const unknown = new Map<string, { readonly type: string; readonly id: string }>()
    this.#turn += 1
    for (const { name, data } of events) {
      const { type, worker_id: id } = data
      if (!name.startsWith('worker.') || type === undefined || id === undefined) continue
      const key = keyOf({ automation_type: type, worker_id: id })
      const row = this.#rows.get(key)
      if (row !== undefined) this.#changedAt.set(key, this.#turn)
      if (name === 'worker.forgotten') {
        this.#drop(key)
        unknown.delete(key)
        continue
      }
      if (row === undefined || name === 'worker.registered')
        unknown.set(key, { type, id }) // A registration changes more fields than the event has.
      else this.#put(patched(row, data), this.#rounds.get(type) ?? 0)
    }
    if (events.length > 0) this.#changed()
    return [...unknown.values()]
  }

  #take(row: WorkerRow, round: number, since: number): void {
    const key = keyOf(row)
    const known = this.#rows.get(key)
    if ((this.#changedAt.get(key) ?? 0) <= since) this.#put(row, round)
    else if (known !== undefined) this.#put(withEventFields(row, known), round) // Otherwise it was forgotten meanwhile.
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

/** The row of a response, with the fields that events changed after the request. */
function withEventFields(row: WorkerRow, known: WorkerRow): WorkerRow {
  return { ...row, ...Object.fromEntries([...FIELDS, 'state_since' as const].map((field) => [field, known[field]])) }
}
