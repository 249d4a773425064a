/**
 * @module storage/memory/workers
 * Implements `workers` of the contract: registration, reports, drains and reading of worker records.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { cutError, ringFrame, takeWithin, writtenBy } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import type {
  WorkerReport,
  ReportResult,
  DrainResult,
  DrainTarget,
  EndedConn,
  Ref,
  RegisterResult,
  Registration,
  RecordedStatus,
  WorkerRow,
  Workers,
  Sync,
} from '../index.ts'
import type { MemoryEnrolments } from './enrolments.ts'
import type { Masters } from './masters.ts'
import type { Store } from './store.ts'
import { shownLabel } from './worker-records.ts'
import type { Drain, WorkerRecord, WorkerRecords } from './worker-records.ts'

interface WorkersDeps {
  readonly records: WorkerRecords
  readonly masters: Masters
  readonly enrolments: MemoryEnrolments
}

export class MemoryWorkers implements Sync<Workers> {
  readonly #store: Store
  readonly #records: WorkerRecords
  readonly #masters: Masters
  readonly #enrolments: MemoryEnrolments

  constructor(store: Store, { records, masters, enrolments }: WorkersDeps) {
    this.#store = store
    this.#records = records
    this.#masters = masters
    this.#enrolments = enrolments
  }

  register(items: readonly Registration[]): readonly RegisterResult[] {
    this.#store.budget.require(
      items.reduce(
        (sum, { hardware, labels = '', defaults }) =>
          sum + 4 * RECORD_OVERHEAD + hardware.length + labels.length + defaults.length,
        0,
      ),
    )
    return items.map((item) => {
      const known = this.#records.find(item)
      const record = known ?? this.#create(item)
      if (record === 'full' || record === 'rules_changed') return { kind: record }
      const replaced = record.conn === item.conn ? null : record.conn // A register may be repeated.
      const before = known === undefined ? null : reportedOf(known)
      const isRestart = known !== undefined && item.instance !== '' && item.instance !== known.instance
      this.#connect(record, item)
      const { drain, config } = record
      return {
        kind: 'registered',
        previous: before,
        drain: drain !== null,
        replaced,
        gen: config.gen,
        ...(isRestart && { isRestart }),
      }
    })
  }

  beat(items: readonly WorkerReport[]): readonly ReportResult[] {
    return items.map((beat) => {
      const record = this.#records.find(beat)
      if (record === undefined) return { status: 'unknown', gen: 0 }
      const { gen } = record.config
      if (record.conn !== beat.conn) return { status: 'replaced', gen }
      this.#records.change(record, () => this.#take(record, beat))
      const label = record.writtenLabel
      const by = writtenBy(label?.revision ?? null, label?.gen ?? null, gen)
      return { status: record.drain === null ? 'ok' : 'drain', gen, ...by }
    })
  }

  disconnect(items: readonly EndedConn[]): void {
    for (const item of items) {
      const record = this.#records.find(item)
      if (record?.conn !== item.conn) continue
      const atMs = this.#store.now()
      const { drain, drainRequest } = record
      record.conn = null
      record.ended = item.ended === true
      record.stateSince = atMs
      record.departure =
        item.end === undefined ? null : { ...item.end, atMs, wasDraining: drain !== null, drain: drainRequest }
    }
  }

  drain(items: readonly DrainTarget[]): readonly DrainResult[] {
    return items.map((item) => {
      const record = this.#records.find(item)
      if (record === undefined) return { kind: 'not_found' }
      if (record.drain === null) {
        const atMs = this.#store.now()
        record.stateSince = atMs
        record.drainRequest = item.actor === undefined ? null : { atMs, actor: item.actor }
      }
      record.drain = this.#masters.isConnected(record.conn) ? boundTo(record) : { kind: 'next' }
      return { kind: 'draining', conn: record.conn }
    })
  }

  manage(items: readonly (Ref & { readonly managedBy: string | null })[]): readonly ('ok' | 'not_found')[] {
    return items.map((item) => {
      const record = this.#records.find(item)
      if (record === undefined) return 'not_found'
      record.managedBy = item.managedBy
      return 'ok'
    })
  }

  forget(refs: readonly Ref[]): readonly boolean[] {
    return refs.map((ref) => this.#records.forget(ref))
  }

  get(refs: readonly Ref[]): readonly (WorkerRow | null)[] {
    return refs.map((ref) => {
      const record = this.#records.find(ref)
      return record === undefined ? null : this.#row(record)
    })
  }

  page(type: string, after: string | null, limit: number, bytes = MAX_RESPONSE_BYTES): readonly WorkerRow[] {
    return takeWithin(this.#records.page(type, after, limit), charsOf, bytes, limit).map((record) => this.#row(record))
  }

  #create(item: Registration): WorkerRecord | 'full' | 'rules_changed' {
    const { type, rules = '', enrolment } = item
    if (this.#records.isFull(type)) return 'full'
    if (rules !== this.#enrolments.versionOf(type)) return 'rules_changed'
    if (enrolment !== undefined) this.#enrolments.use(type, enrolment.revision)
    return this.#records.create(item)
  }

  #connect(record: WorkerRecord, { conn, instance, hardware, labels }: Registration): void {
    const now = this.#store.now()
    if (record.drain !== null && !concerns(record.drain, conn, instance)) {
      record.drain = null
      record.drainRequest = null
      record.state = 'IDLE'
    }
    record.departure = null
    this.#records.change(record, () => {
      record.hardware = hardware
      record.labels = labels ?? null
    })
    record.conn = conn
    record.ended = false
    record.instance = instance
    record.stateSince = now
    record.lastSeen = now
    if (record.drain !== null) record.drain = boundTo(record)
  }

  #take(record: WorkerRecord, { state, stats = [] }: WorkerReport): void {
    const now = this.#store.now()
    record.lastSeen = now
    if (state !== undefined) {
      if (state.state !== record.state && record.drain === null) record.stateSince = now
      record.state = state.state
      record.appliedGen = state.gen
      record.lastError = state.lastError === null ? null : cutError(state.lastError)
    }
    for (const frame of stats) this.#records.addFrame(record, ringFrame(frame))
    record.stats = stats.at(-1) ?? record.stats
  }

  #row(record: WorkerRecord): WorkerRow {
    const { type, id, conn, ended, registeredAt, hardware, labels, stateSince, lastSeen, managedBy, config, stats } =
      record
    const { drainRequest, departure } = record
    return {
      type,
      id,
      conn,
      connected: this.#masters.isConnected(conn),
      ended,
      registeredAtMs: registeredAt,
      hardware,
      labels,
      ...reportedOf(record),
      stateSinceMs: stateSince,
      lastSeenAtMs: lastSeen,
      draining: record.drain !== null,
      ...(drainRequest !== null && { drainRequest }),
      ...(departure !== null && { departure }),
      managedBy,
      config,
      configRevision: shownLabel(record),
      stats,
    }
  }
}

function reportedOf({ drain, state, lastError, appliedGen }: WorkerRecord): RecordedStatus {
  return { state: drain === null ? state : 'DRAINING', lastError, appliedGen }
}

const charsOf = ({ hardware, labels, config, lastError, stats }: WorkerRecord): number =>
  RECORD_OVERHEAD +
  hardware.length +
  (labels?.length ?? 0) +
  config.config.length +
  (lastError?.length ?? 0) +
  (stats?.length ?? 0)

/** The process behind the record's connection: by its instance, else by its connection. */
function boundTo({ conn, instance }: WorkerRecord): Drain {
  if (instance !== '') return { kind: 'process', instance }
  return conn === null ? { kind: 'next' } : { kind: 'connection', conn }
}

/**
 * Whether a process that registers now is the one to be drained. Its connection is a new one, unless the register is
 * repeated.
 */
function concerns(drain: Drain, conn: string, instance: string): boolean {
  if (drain.kind === 'process') return drain.instance === instance
  if (drain.kind === 'connection') return drain.conn === conn && instance === ''
  return true
}
