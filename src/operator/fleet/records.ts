/**
 * @module operator/fleet/records
 * What is known of the workers of one type, out of events, lists, single reads and the answers of our own writes, which
 * overtake each other. One sequence orders them:
 *
 *   an event, an answer of a write ──▶ takes the next number when it arrives
 *   a page, a single read ──▶ takes the next number when it is *asked for*, and is applied only to entries that nothing
 *                             with a higher number has touched
 *
 * So a read never undoes what was learnt after it was asked for. An event has but the fields that changed: one that says
 * that the config moved on makes the entry stale, until it is read. A worker that a whole pass has not seen, and that
 * nothing has touched since the pass began, is not registered.
 *
 * Configs are kept packed; one is unpacked when it is asked for.
 */
import { sameJson, type JsonObject, type WorkerBody, type WorkerEventName } from '../../protocol/index.ts'
import { packed, unpacked, type Packed } from '../packed.ts'
import type { WorkerRecord } from './ports.ts'

/** The order of everything that is learnt from the master. */
export class Sequence {
  #last = 0

  next(): number {
    this.#last += 1
    return this.#last
  }
}

type Kept = Omit<WorkerRecord, 'config'> & { readonly config: Packed }

interface RecordEntry {
  /** Null: it is known to be registered or gone, and to be no more than that. */
  record: Kept | null
  epoch: string
  isAbsent: boolean
  /** A read is due: the config moved on to at least this generation, or nothing is known of the worker. */
  staleSince: number | null
  lastSequence: number
  readMs: number
}

/** Where a record came from. */
export interface Source {
  /** The number of the request. */
  readonly begun: number
  readonly epoch: string
  /** When it was asked for, by the master's clock. */
  readonly atMs: number
}

/** What an event says of a worker, as it came: fields are taken one by one, each only if it is what it should be. */
export type EventFields = Readonly<Record<string, unknown>>

export interface RecordsDeps {
  readonly sequence: Sequence
  /** A difference that matters. */
  readonly onChange: (workerId: string) => void
  readonly onStale: () => void
  /** A generation fell within an epoch. */
  readonly onRegression: (workerId: string) => void
}

const MATTERS = [
  'config_gen',
  'state',
  'connected',
  'applied_config_gen',
  'draining',
  'managed_by',
  'last_error',
] as const satisfies readonly (keyof WorkerBody)[]
type Matter = (typeof MATTERS)[number] | 'config'

export class Records {
  readonly #deps: RecordsDeps
  readonly #entries = new Map<string, RecordEntry>()

  constructor(deps: RecordsDeps) {
    this.#deps = deps
  }

  /** Undefined: nothing is known, which after a whole pass means that there is no such worker. */
  get(workerId: string): Readonly<Omit<RecordEntry, 'record'> & { record: WorkerRecord | null }> | undefined {
    const entry = this.#entries.get(workerId)
    if (entry === undefined) return undefined
    return {
      ...entry,
      record: entry.record === null ? null : { ...entry.record, config: unpacked(entry.record.config) },
    }
  }

  get size(): number {
    return this.#entries.size
  }

  *all(): Generator<Omit<WorkerRecord, 'config'>> {
    for (const { record, isAbsent } of this.#entries.values()) if (record !== null && !isAbsent) yield record
  }

  /** The workers that a read is due for. */
  stale(): readonly string[] {
    return [...this.#entries]
      .filter(([, { staleSince, isAbsent }]) => staleSince !== null && !isAbsent)
      .map(([id]) => id)
  }

  /** A page or a single read. `known`: fields whose difference the caller knows of, and needs no call for. */
  read(body: WorkerBody, { begun, epoch, atMs }: Source, known: ReadonlySet<Matter> | 'all' = NOTHING): void {
    const entry = this.#entries.get(body.worker_id)
    if (entry !== undefined && entry.lastSequence >= begun) return
    const before = entry?.isAbsent === true ? null : (entry?.record ?? null)
    const record = keptOf(body)
    this.#entries.set(record.worker_id, {
      record,
      epoch,
      isAbsent: false,
      staleSince: null,
      lastSequence: begun,
      readMs: atMs,
    })
    if (before !== null && record.config_gen < before.config_gen) this.#deps.onRegression(record.worker_id)
    if (known !== 'all' && (before === null || differs(before, record, known))) this.#deps.onChange(record.worker_id)
  }

  /** The answer of a write to `managed_by`, with the record as it was then. */
  claimed(record: WorkerBody, source: Source): void {
    const entry = this.#entries.get(record.worker_id)
    if (entry !== undefined && entry.lastSequence >= source.begun) {
      if (entry.record?.managed_by !== record.managed_by) this.markStale(record.worker_id)
      return
    }
    this.read(record, source, OWN_CLAIM)
    const after = this.#entries.get(record.worker_id)
    if (after !== undefined) after.lastSequence = this.#deps.sequence.next() // A read that is under way may be from before.
  }

  /** The answer of a PATCH. */
  patched(workerId: string, config: JsonObject, configGen: number, epoch: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.record === null || entry.epoch !== epoch || configGen <= entry.record.config_gen)
      return
    entry.record = { ...entry.record, config: packed(config), config_gen: configGen }
    if (entry.staleSince !== null && entry.staleSince <= configGen) entry.staleSince = null
    entry.lastSequence = this.#deps.sequence.next()
  }

  /** A drain was taken on; the worker is told. */
  drained(workerId: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.record === null) return
    entry.record = { ...entry.record, draining: true }
    entry.lastSequence = this.#deps.sequence.next()
  }

  /** A read that was asked for as `begun` found no such worker. */
  onNotFound(workerId: string, begun: number, isKnown: boolean): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.isAbsent || entry.lastSequence >= begun) return
    this.#markAbsent(entry)
    if (!isKnown) this.#deps.onChange(workerId)
  }

  /** Whatever is known of its config may be wrong. */
  markStale(workerId: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.isAbsent) return
    entry.staleSince = Math.max(entry.staleSince ?? 0, (entry.record?.config_gen ?? 0) + 1)
    entry.lastSequence = this.#deps.sequence.next()
    this.#deps.onStale()
  }

  event(name: WorkerEventName, workerId: string, fields: EventFields): void {
    const entry = this.#entries.get(workerId) ?? this.#unread(workerId)
    entry.lastSequence = this.#deps.sequence.next()
    if (name === 'worker.forgotten') {
      if (!entry.isAbsent) this.#deps.onChange(workerId)
      this.#markAbsent(entry)
      return
    }
    if (name === 'worker.registered' || entry.isAbsent || entry.record === null) {
      this.#readAnew(entry)
      return
    }
    const before = entry.record
    entry.record = merged(before, name, fields)
    const configGen = fields['config_gen']
    if (name === 'worker.config_changed' && typeof configGen === 'number' && configGen > before.config_gen)
      this.#readAnew(entry, configGen)
    if (differs(before, entry.record, NOTHING)) this.#deps.onChange(workerId)
  }

  /** Another life of the store begins: nothing is known of it. */
  clear(): void {
    this.#entries.clear()
  }

  /** A whole pass that began as `begun` has ended; it saw `seen`. */
  listCompleted(seen: ReadonlySet<string>, begun: number): void {
    for (const [id, entry] of this.#entries) {
      if (seen.has(id) || entry.lastSequence >= begun) continue
      this.#entries.delete(id)
      if (!entry.isAbsent) this.#deps.onChange(id)
    }
  }

  #unread(workerId: string): RecordEntry {
    const entry: RecordEntry = {
      record: null,
      epoch: '',
      isAbsent: false,
      staleSince: null,
      lastSequence: 0,
      readMs: 0,
    }
    this.#entries.set(workerId, entry)
    return entry
  }

  /** The entry stays until a pass that began later, or an older read would bring the worker back. */
  #markAbsent(entry: RecordEntry): void {
    entry.isAbsent = true
    entry.record = null
    entry.staleSince = null
    entry.lastSequence = this.#deps.sequence.next()
  }

  #readAnew(entry: RecordEntry, configGen = Infinity): void {
    entry.isAbsent = false
    entry.staleSince = Math.max(entry.staleSince ?? 0, configGen)
    this.#deps.onStale()
  }
}

function keptOf(body: WorkerBody): Kept {
  const { hardware: _, config, current_stats: stats, ...rest } = body
  return {
    ...rest,
    config: packed(config),
    current_stats: stats === null ? null : { slots: stats.slots, cpu_pct: stats.cpu_pct, rss_mb: stats.rss_mb },
  }
}

const NOTHING: ReadonlySet<Matter> = new Set()
const OWN_CLAIM: ReadonlySet<Matter> = new Set(['managed_by'])

function differs(before: Kept, after: Kept, known: ReadonlySet<Matter>): boolean {
  if (MATTERS.some((field) => !known.has(field) && before[field] !== after[field])) return true
  return (
    !known.has('config') && before.config !== after.config && !sameJson(unpacked(before.config), unpacked(after.config))
  )
}

/** Fields that an event of this name may bring into the record. */
const BRINGS: Readonly<Record<WorkerEventName, readonly Exclude<keyof WorkerRecord, 'config'>[]>> = {
  'worker.registered': [],
  'worker.forgotten': [],
  'worker.connected': ['connected', 'state', 'draining'],
  'worker.disconnected': ['connected'],
  'worker.state': ['state', 'last_error'],
  'worker.config_changed': ['config_changed_at', 'config_changed_by'],
  'worker.config_applied': ['applied_config_gen'],
  'worker.draining': ['state', 'draining'],
  'worker.claimed': ['managed_by'],
}
/** Heard of the worker itself just now. */
const SHOWS_LIFE: ReadonlySet<WorkerEventName> = new Set<WorkerEventName>([
  'worker.connected',
  'worker.disconnected',
  'worker.state',
  'worker.config_applied',
])

function merged(record: Kept, name: WorkerEventName, fields: EventFields): Kept {
  const { ts } = fields
  const seen = SHOWS_LIFE.has(name) && typeof ts === 'number' && ts > record.last_seen ? { last_seen: ts } : {}
  const brought = BRINGS[name]
    .filter((field) => fields[field] !== undefined && isLike(field, fields[field]))
    .map((field) => [field, fields[field]])
  return { ...record, ...seen, ...(Object.fromEntries(brought) as Partial<Kept>) }
}

const STRING_OR_NULL: ReadonlySet<string> = new Set(['last_error', 'managed_by', 'config_changed_by'])
const NUMBER_OR_NULL: ReadonlySet<string> = new Set(['applied_config_gen', 'config_changed_at'])

function isLike(field: keyof WorkerRecord, value: unknown): boolean {
  if (field === 'connected' || field === 'draining') return typeof value === 'boolean'
  if (field === 'state') return typeof value === 'string'
  return (
    value === null ||
    (STRING_OR_NULL.has(field) && typeof value === 'string') ||
    (NUMBER_OR_NULL.has(field) && typeof value === 'number')
  )
}
