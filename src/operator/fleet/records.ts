/**
 * @module operator/fleet/records
 * Stores what is known of the workers of one type. Events, lists, single reads and responses to writes arrive out of
 * order, so one sequence orders them:
 *
 *   an event, the response to a write ──▶ takes the next number when it arrives
 *   a page, a single read ──▶ takes the next number when it is *requested*, and is applied only to entries that no
 *                             higher number has changed
 *
 * So a read never undoes what was learnt after it was requested. An event has only the fields that changed. An event
 * for a changed config makes the entry stale until it is read. A worker that is missing from a whole list, and whose
 * entry has not changed since the list began, is not registered.
 *
 * Configs are stored as text; a config is parsed when it is requested. A list of a type that only sets name contains no
 * configs, because sets compare labels.
 */
import {
  RESERVED_METRICS,
  sameJson,
  type JsonObject,
  type WorkerBody,
  type WorkerEventName,
  type WorkerSummary,
} from '../../protocol/index.ts'
import { packed, unpacked, type Packed } from '../packed.ts'
import type { AppliedRevision, WorkerRecord, WorkerRow } from './ports.ts'

/** Orders everything that is learnt from the master. */
export class Sequence {
  #last = 0

  next(): number {
    this.#last += 1
    return this.#last
  }
}

type Kept = Omit<WorkerRecord, 'config'> & { readonly config: Packed }

interface RecordEntry {
  /** `null`: only the presence of the worker is known: registered, or absent. */
  record: Kept | null
  epoch: string
  isAbsent: boolean
  /** A read is due: the config has reached at least this generation, or nothing is known of the worker. */
  staleSince: number | null
  /** The config was never read, or a bulk change has replaced it since. It is read when it is needed. */
  isConfigUnread: boolean
  lastSequence: number
  readMs: number
  /** The last row that was yielded. */
  row?: WorkerRow
}

/** The read that a record came from. */
export interface Source {
  /** The sequence number of the request. */
  readonly begun: number
  readonly epoch: string
  /** When it was requested, by the master's clock. */
  readonly atMs: number
}

/** The fields of an event, unchecked. Each is applied only if it has the expected type. */
export type EventFields = Readonly<Record<string, unknown>>

export interface RecordsDeps {
  readonly sequence: Sequence
  /** A relevant difference. */
  readonly onChange: (workerId: string) => void
  readonly onStale: () => void
  /** A generation decreased within an epoch. */
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
  'config_revision',
] as const satisfies readonly (keyof WorkerBody)[]
type Matter = (typeof MATTERS)[number] | 'config'

export class Records {
  readonly #deps: RecordsDeps
  readonly #entries = new Map<string, RecordEntry>()

  constructor(deps: RecordsDeps) {
    this.#deps = deps
  }

  /** @returns `undefined` if nothing is known; after a whole list this means that the worker does not exist. */
  get(workerId: string): Readonly<Omit<RecordEntry, 'record'> & { record: WorkerRecord | null }> | undefined {
    const entry = this.#entries.get(workerId)
    if (entry === undefined) return undefined
    return {
      ...entry,
      record: entry.record === null ? null : { ...entry.record, config: unpacked(entry.record.config) },
    }
  }

  /** Whether the worker is registered, as far as is known. */
  has(workerId: string): boolean {
    return this.#entries.get(workerId)?.isAbsent === false
  }

  get size(): number {
    return this.#entries.size
  }

  *all(): Generator<Omit<WorkerRecord, 'config'>> {
    for (const { record, isAbsent } of this.#entries.values()) if (record !== null && !isAbsent) yield record
  }

  /** Yields the same object again as long as nothing has changed, so a caller may keep what it derived from it. */
  *rows(): Generator<WorkerRow> {
    for (const entry of this.#entries.values())
      if (entry.record !== null && !entry.isAbsent) yield rowOf(entry, entry.record)
  }

  /** The workers whose read is due. */
  stale(): readonly string[] {
    const ids: string[] = []
    for (const [id, { staleSince, isAbsent }] of this.#entries) if (staleSince !== null && !isAbsent) ids.push(id)
    return ids
  }

  /**
   * Applies a page or a single read. `known`: fields whose difference the caller handles, so no notification is needed.
   */
  read(body: WorkerBody, source: Source, known: ReadonlySet<Matter> | 'all' = NOTHING): void {
    this.#learn(body.worker_id, source, known, () => ({
      record: { ...valuesOf(body), config: packed(body.config) },
      isConfigUnread: false,
    }))
  }

  /** Applies a row of a list without configs and metrics (`view=summary`, D47). */
  readSummary(body: WorkerSummary, source: Source): void {
    this.#learn(body.worker_id, source, NOTHING, (before, isUnread) => withoutConfig(body, before, isUnread))
  }

  /** Applies the response to a write to `managed_by`, with the record at that time. */
  claimed(record: WorkerBody, source: Source): void {
    const entry = this.#entries.get(record.worker_id)
    if (entry !== undefined && entry.lastSequence >= source.begun) {
      if (entry.record?.managed_by !== record.managed_by) this.markStale(record.worker_id)
      return
    }
    this.read(record, source, OWN_CLAIM)
    const after = this.#entries.get(record.worker_id)
    if (after !== undefined) after.lastSequence = this.#deps.sequence.next() // A read in flight may be older.
  }

  /** Applies the response to a PATCH. */
  patched(workerId: string, config: JsonObject, configGen: number, epoch: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.record === null || entry.epoch !== epoch || configGen <= entry.record.config_gen)
      return
    entry.record = { ...entry.record, config: packed(config), config_gen: configGen }
    if (entry.staleSince !== null && entry.staleSince <= configGen) entry.staleSince = null
    entry.isConfigUnread = false
    entry.lastSequence = this.#deps.sequence.next()
  }

  /** Applies the result of a bulk change, which does not contain the config. */
  applied(workerId: string, { configGen, label, managedBy }: AppliedRevision, epoch: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.record === null || entry.epoch !== epoch || configGen < entry.record.config_gen)
      return
    entry.isConfigUnread ||= configGen > entry.record.config_gen
    entry.record = { ...entry.record, config_gen: configGen, config_revision: label, managed_by: managedBy }
    if (entry.staleSince !== null && entry.staleSince <= configGen) entry.staleSince = null
    entry.lastSequence = this.#deps.sequence.next()
  }

  /** Records that the master accepted a drain and notified the worker. */
  drained(workerId: string): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.record === null) return
    entry.record = { ...entry.record, draining: true }
    entry.lastSequence = this.#deps.sequence.next()
  }

  /** Records that a read requested as `begun` found no such worker. */
  onNotFound(workerId: string, begun: number, isKnown: boolean): void {
    const entry = this.#entries.get(workerId)
    if (entry === undefined || entry.isAbsent || entry.lastSequence >= begun) return
    this.#markAbsent(entry)
    if (!isKnown) this.#deps.onChange(workerId)
  }

  /** Marks the known config as possibly outdated. */
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

  /** Clears all records, because a new epoch began. */
  clear(): void {
    this.#entries.clear()
  }

  /** Ends a whole list that began as `begun` and contained `seen`. */
  listCompleted(seen: ReadonlySet<string>, begun: number): void {
    for (const [id, entry] of this.#entries) {
      if (seen.has(id) || entry.lastSequence >= begun) continue
      this.#entries.delete(id)
      if (!entry.isAbsent) this.#deps.onChange(id)
    }
  }

  /** Replaces the entry of a worker, unless something newer is known. */
  #learn(
    id: string,
    { begun, epoch, atMs }: Source,
    known: ReadonlySet<Matter> | 'all',
    read: (before: Kept | null, isUnread: boolean) => Learnt,
  ): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined && entry.lastSequence >= begun) return
    const before = entry?.isAbsent === true ? null : (entry?.record ?? null)
    const { record, isConfigUnread } = read(before, entry?.isConfigUnread ?? true)
    this.#entries.set(id, {
      record,
      epoch,
      isAbsent: false,
      staleSince: null,
      isConfigUnread,
      lastSequence: begun,
      readMs: atMs,
    })
    if (before !== null && record.config_gen < before.config_gen) this.#deps.onRegression(id)
    if (known !== 'all' && (before === null || differs(before, record, known))) this.#deps.onChange(id)
  }

  #unread(workerId: string): RecordEntry {
    const entry: RecordEntry = {
      record: null,
      epoch: '',
      isAbsent: false,
      staleSince: null,
      isConfigUnread: true,
      lastSequence: 0,
      readMs: 0,
    }
    this.#entries.set(workerId, entry)
    return entry
  }

  /** Keeps the entry until a list that began later, because an older read would otherwise restore the worker. */
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

function rowOf(entry: RecordEntry, record: Kept): WorkerRow {
  const { epoch, row } = entry
  const isStale = entry.staleSince !== null
  if (row?.record === record && row.isStale === isStale && row.epoch === epoch) return row
  return (entry.row = { record, epoch, isStale })
}

const UNREAD = packed({}, false)

/** What a read says of a worker. */
interface Learnt {
  readonly record: Kept
  readonly isConfigUnread: boolean
}

function withoutConfig(body: WorkerSummary, before: Kept | null, isUnread: boolean): Learnt {
  const values = valuesOf(body)
  // A worker never returns to an earlier generation, so newer statistics are of the same generation or a later one.
  const ranGen = before?.current_stats?.config_gen ?? null
  return {
    record: {
      ...values,
      current_stats: values.current_stats && { ...values.current_stats, config_gen: ranGen },
      config: before?.config ?? UNREAD,
    },
    isConfigUnread: isUnread || before?.config_gen !== values.config_gen,
  }
}

function valuesOf(body: WorkerBody | WorkerSummary): Omit<Kept, 'config'> {
  const { hardware: _, config: _config, current_stats: stats, ...rest } = body
  if (stats === null) return { ...rest, current_stats: null }
  const { slots, cpu_pct, rss_mb } = stats
  const ranGen = 'metrics' in stats ? stats.metrics[RESERVED_METRICS.configGen] : null
  return {
    ...rest,
    current_stats: { slots, cpu_pct, rss_mb, config_gen: typeof ranGen === 'number' ? ranGen : null },
  }
}

const NOTHING: ReadonlySet<Matter> = new Set()
const OWN_CLAIM: ReadonlySet<Matter> = new Set(['managed_by'])

function differs(before: Kept, after: Kept, known: ReadonlySet<Matter>): boolean {
  if (MATTERS.some((field) => !known.has(field) && before[field] !== after[field])) return true
  if (!sameJson(before.labels, after.labels)) return true
  return (
    !known.has('config') && before.config !== after.config && !sameJson(unpacked(before.config), unpacked(after.config))
  )
}

/** Fields that an event of this name may bring into the record. */
const BRINGS: Readonly<Record<WorkerEventName, readonly Exclude<keyof WorkerRecord, 'config'>[]>> = {
  'worker.registered': [],
  'worker.forgotten': [],
  'worker.connected': ['connected', 'state', 'draining'],
  'worker.disconnected': ['connected', 'ended'],
  'worker.state': ['state', 'last_error'],
  'worker.config_changed': ['config_changed_at', 'config_changed_by'],
  'worker.config_applied': ['applied_config_gen'],
  'worker.draining': ['state', 'draining'],
  'worker.claimed': ['managed_by'],
}
/** Events that come from the worker itself. */
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
  const begun = name === 'worker.connected' && record.ended === true ? { ended: false } : {}
  return { ...record, ...seen, ...begun, ...(Object.fromEntries(brought) as Partial<Kept>) }
}

const STRING_OR_NULL: ReadonlySet<string> = new Set(['last_error', 'managed_by', 'config_changed_by'])
const NUMBER_OR_NULL: ReadonlySet<string> = new Set(['applied_config_gen', 'config_changed_at'])

function isLike(field: keyof WorkerRecord, value: unknown): boolean {
  if (field === 'connected' || field === 'draining' || field === 'ended') return typeof value === 'boolean'
  if (field === 'state') return typeof value === 'string'
  return (
    value === null ||
    (STRING_OR_NULL.has(field) && typeof value === 'string') ||
    (NUMBER_OR_NULL.has(field) && typeof value === 'number')
  )
}
