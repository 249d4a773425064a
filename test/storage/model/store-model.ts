/**
 * A minimal model of everything in a store except tasks: workers with their configs, streams, pools, locks and values.
 * Like the task model it is independent of any backend, and takes over the tokens and stream ids that the backend
 * generated.
 */
import type {
  WorkerReport,
  ReportResult,
  BulkChange,
  BulkPut,
  BulkPutResult,
  ClaimRequest,
  ClaimRow,
  ConfigPut,
  ConfigPutResult,
  ConfigRaiseResult,
  EndedConn,
  ExtendHoldResult,
  Departure,
  DrainRequest,
  DrainResult,
  DrainTarget,
  HistoryRow,
  LeaseRef,
  LockResult,
  ManagedConfigRow,
  PoolItem,
  PoolRow,
  Ref,
  ReserveRefusal,
  RegisterResult,
  Registration,
  WorkerRow,
} from '../../../src/storage/index.ts'
import { EnrolmentsModel } from './enrolments-model.ts'
import { OperationsModel } from './operations-model.ts'
import { RevisionsModel } from './revisions-model.ts'
import { RolloutsModel } from './rollouts-model.ts'
import { RollupsModel } from './rollups-model.ts'
import { TasksModel } from './tasks-model.ts'
import type { Time } from './tasks-model.ts'

type Settled = 'ok' | 'lease_lost'
type Computed = 'connected' | 'draining' | 'drainRequest' | 'departure' | 'stats' | 'configRevision'
type Worker = Omit<WorkerRow, 'type' | Computed> & {
  bulk: { revision: string; variant: string; gen: number } | null
  type: string
  instance: string
  drain: string | null
  drainRequest: DrainRequest | null
  departure: Departure | null
  history: HistoryRow[]
  frames: string[]
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const HOUR = 3_600_000
const keyOf = ({ type, id }: Ref): string => JSON.stringify([type, id])
/** Identifies the process behind a connection: by its instance id, or else by the connection (D6). */
const processOf = ({ instance, conn }: { instance: string; conn: string }): string =>
  JSON.stringify(instance === '' ? { conn } : { instance })

function labelOf({ bulk, config }: Pick<Worker, 'bulk' | 'config'>): string | null {
  return bulk && `${bulk.revision}/${bulk.gen === config.gen ? bulk.variant : '*'}`
}

export class FleetModel {
  readonly masters = new Map<string, number>()
  readonly #time: Time
  readonly #workers = new Map<string, Mutable<Worker>>()
  readonly #forgotten = new Map<string, number>()
  readonly revisions: RevisionsModel
  readonly rollouts = new RolloutsModel()
  readonly rollups: RollupsModel
  readonly enrolments = new EnrolmentsModel((type, name) => this.revisions.find(type, name) !== undefined)

  constructor(time: Time) {
    this.#time = time
    this.rollups = new RollupsModel(time)
    this.revisions = new RevisionsModel(
      time,
      (type, name) =>
        [...this.#workers.values()].filter((each) => each.type === type && each.bulk?.revision === name).length,
      (type, name) => this.enrolments.uses(type, name),
    )
  }
  find(ref: Ref): Mutable<Worker> | undefined {
    return this.#workers.get(keyOf(ref))
  }
  lives(master: string): boolean {
    return this.#time.now < (this.masters.get(master) ?? -Infinity) + 15_000
  }
  register(items: readonly Registration[]): RegisterResult[] {
    return items.map(({ type, id, conn, instance, hardware, labels = null, defaults, rules = '', enrolment }) => {
      const now = this.#time.now
      const known = this.find({ type, id })
      if (known === undefined && rules !== this.enrolments.list(type).version) return { kind: 'rules_changed' }
      if (known === undefined && enrolment !== undefined) this.revisions.use(type, enrolment.revision)
      const kept = this.#forgotten.get(keyOf({ type, id })) ?? -1
      const worker = known ?? {
        type,
        id,
        conn: null,
        ended: false,
        instance,
        registeredAtMs: now,
        hardware,
        labels,
        state: 'IDLE',
        stateSinceMs: now,
        lastSeenAtMs: now,
        lastError: null,
        drain: null,
        drainRequest: null,
        departure: null,
        managedBy: enrolment?.managedBy ?? null,
        appliedGen: null,
        config: { gen: kept + 1, config: defaults, changedAtMs: null, actor: null },
        bulk:
          enrolment === undefined ? null : { revision: enrolment.revision, variant: enrolment.variant, gen: kept + 1 },
        history: [],
        frames: [],
      }
      const replaced = worker.conn === conn ? null : worker.conn
      const before =
        known === undefined
          ? null
          : ({
              state: worker.drain === null ? worker.state : 'DRAINING',
              lastError: worker.lastError,
              appliedGen: worker.appliedGen,
            } as const)
      const isRestart = known !== undefined && instance !== '' && instance !== known.instance
      const draining = worker.drain === 'next' || worker.drain === processOf({ instance, conn })
      if (worker.drain !== null && !draining) worker.state = 'IDLE'
      Object.assign(worker, {
        conn,
        instance,
        hardware,
        labels,
        ended: false,
        stateSinceMs: now,
        lastSeenAtMs: now,
        drain: draining ? processOf({ instance, conn }) : null,
        drainRequest: draining ? worker.drainRequest : null,
        departure: null,
      })
      this.#workers.set(keyOf({ type, id }), worker)
      return {
        kind: 'registered',
        previous: before,
        drain: draining,
        replaced,
        gen: worker.config.gen,
        ...(isRestart && { isRestart }),
      }
    })
  }
  beat(items: readonly WorkerReport[]): ReportResult[] {
    return items.map(({ type, id, conn, state, stats = [] }) => {
      const worker = this.find({ type, id })
      if (worker === undefined) return { status: 'unknown', gen: 0 }
      const { gen } = worker.config
      if (worker.conn !== conn) return { status: 'replaced', gen }
      worker.lastSeenAtMs = this.#time.now
      if (state !== undefined) {
        if (state.state !== worker.state && worker.drain === null) worker.stateSinceMs = this.#time.now
        Object.assign(worker, { state: state.state, appliedGen: state.gen, lastError: state.lastError })
      }
      worker.frames.push(...stats)
      const by = worker.bulk?.gen === gen ? { revision: worker.bulk.revision } : {}
      return { status: worker.drain === null ? 'ok' : 'drain', gen, ...by }
    })
  }
  disconnect(items: readonly EndedConn[]): void {
    for (const item of items) {
      const worker = this.find(item)
      if (worker?.conn !== item.conn) continue
      const { drain, drainRequest } = worker
      const atMs = this.#time.now
      const departure = item.end && { ...item.end, atMs, wasDraining: drain !== null, drain: drainRequest }
      const ended = item.ended === true
      Object.assign(worker, { conn: null, stateSinceMs: atMs, ended, departure: departure ?? null })
    }
  }
  drain(items: readonly DrainTarget[]): DrainResult[] {
    return items.map(({ actor, ...ref }) => {
      const worker = this.find(ref)
      if (worker === undefined) return { kind: 'not_found' }
      const { conn, instance } = worker
      if (worker.drain === null) {
        const atMs = this.#time.now
        Object.assign(worker, { stateSinceMs: atMs, drainRequest: actor === undefined ? null : { atMs, actor } })
      }
      worker.drain = conn !== null && this.row(ref)?.connected === true ? processOf({ instance, conn }) : 'next'
      return { kind: 'draining', conn }
    })
  }
  /** Why a worker may not reserve, or null if it may. */
  refusal(ref: Ref, gen: number): ReserveRefusal | null {
    const worker = this.find(ref)
    if (worker === undefined) return 'unknown'
    if (worker.drain !== null) return 'draining'
    return worker.config.gen === gen ? null : 'stale'
  }
  manage(items: readonly (Ref & { managedBy: string | null })[]): ('ok' | 'not_found')[] {
    return items.map((item) => {
      const worker = this.find(item)
      if (worker !== undefined) worker.managedBy = item.managedBy
      return worker === undefined ? 'not_found' : 'ok'
    })
  }
  forget(refs: readonly Ref[]): boolean[] {
    return refs.map((ref) => {
      const gen = this.find(ref)?.config.gen
      if (gen !== undefined) this.#forgotten.set(keyOf(ref), gen)
      return this.#workers.delete(keyOf(ref))
    })
  }
  put({ type, id, expectGen, config, changed, actor }: ConfigPut): ConfigPutResult {
    const worker = this.find({ type, id })
    if (worker === undefined) return { kind: 'not_found' }
    if (worker.config.gen !== expectGen) return { kind: 'conflict', current: worker.config }
    const [gen, now] = [expectGen + 1, this.#time.now]
    worker.config = { gen, config, changedAtMs: now, actor }
    worker.history = [{ gen, changedAtMs: now, actor, changed, config }, ...worker.history].slice(0, 50)
    return { kind: 'stored', gen, conn: worker.conn }
  }
  putMany(type: string, { revision, managedBy, actor }: BulkChange, puts: readonly BulkPut[]): BulkPutResult[] {
    if (this.revisions.find(type, revision) === undefined) return puts.map(() => ({ kind: 'unknown_revision' }))
    const results = puts.map(({ id, change, ...put }): BulkPutResult => {
      const worker = this.find({ type, id })
      if (worker === undefined) return { kind: 'not_found' }
      const { gen, config } = worker.config
      if (gen !== put.expectGen || config !== put.expectConfig || worker.managedBy !== put.expectManagedBy)
        return { kind: 'conflict' }
      const next = change === null ? gen : gen + 1
      worker.bulk = { revision, variant: put.variant, gen: next }
      worker.managedBy = managedBy ?? worker.managedBy
      if (change !== null) {
        const [now, bulk] = [this.#time.now, { revision, patch: change.patch }]
        const row = { gen: next, changedAtMs: now, actor, changed: change.changed, config: null, bulk }
        worker.config = { gen: next, config: change.config, changedAtMs: now, actor }
        worker.history = [row, ...worker.history].slice(0, 50)
      }
      return { kind: 'stored', gen: next, conn: worker.conn }
    })
    if (results.some(({ kind }) => kind === 'stored')) this.revisions.use(type, revision)
    return results
  }
  /** What `configs.get` returns. */
  managed(ref: Ref): ManagedConfigRow | null {
    const worker = this.find(ref)
    return worker === undefined
      ? null
      : { ...worker.config, configRevision: labelOf(worker), managedBy: worker.managedBy }
  }
  raise(items: readonly (Ref & { above: number })[]): ConfigRaiseResult[] {
    return items.map((item) => {
      const worker = this.find(item)
      if (worker === undefined) return { kind: 'not_found' }
      if (item.above + 1 - worker.config.gen > 1_000_000) return { kind: 'too_far' }
      worker.config = { ...worker.config, gen: Math.max(worker.config.gen, item.above + 1) }
      return { kind: 'raised', gen: worker.config.gen, conn: worker.conn }
    })
  }
  row(ref: Ref): WorkerRow | null {
    const worker = this.find(ref)
    if (worker === undefined) return null
    const { instance: _instance, drain, history: _history, bulk: _bulk, frames, conn, state, ...stored } = worker
    const { drainRequest, departure, ...rest } = stored
    const connected = conn !== null && this.lives(conn.slice(0, conn.lastIndexOf('/')))
    return {
      ...rest,
      conn,
      connected,
      state: drain === null ? state : 'DRAINING',
      draining: drain !== null,
      ...(drainRequest !== null && { drainRequest }),
      ...(departure !== null && { departure }),
      configRevision: labelOf(worker),
      stats: frames.at(-1) ?? null,
    }
  }
  /** In the byte order of the id. */
  page(type: string): WorkerRow[] {
    const ids = [...this.#workers.values()].filter((worker) => worker.type === type).map(({ id }) => id)
    return ids
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .flatMap((id) => this.row({ type, id }) ?? [])
  }
}

export class StreamModel {
  /** `id` is null until the backend has shown it. */
  entries: { entry: string; at: number; id: string | null }[] = []
  readonly producers = new Map<string, number>()
  readonly #time: Time

  constructor(time: Time) {
    this.#time = time
  }
  push(producer: string, seq: number, entries: readonly string[]): { length: number; trimmed: number } {
    if (seq <= (this.producers.get(producer) ?? -1)) return { length: this.entries.length, trimmed: 0 }
    this.producers.set(producer, seq)
    const young = this.entries.filter(({ at }) => at > this.#time.now - HOUR)
    const trimmed = this.entries.length - young.length
    this.entries = [...young, ...entries.map((entry) => ({ entry, at: this.#time.now, id: null }))]
    return { length: this.entries.length, trimmed }
  }
}

type Item = Mutable<PoolItem> & {
  used: number
  token: number
  until: number
  owner: string
  holder: ClaimRow['holder']
}

export class PoolModel {
  readonly #time: Time
  #items: Item[] = []
  #puts = -1_000_000_000

  constructor(time: Time) {
    this.#time = time
  }
  get items(): readonly Item[] {
    return (this.#items = this.#items.filter(
      ({ expiresAtMs: expires }) => expires === null || expires > this.#time.now,
    ))
  }
  put(items: readonly PoolItem[]): ('created' | 'replaced')[] {
    const known = [...this.items]
    this.#items = known
    return items.map((item) => {
      const found = known.find(({ id }) => id === item.id)
      if (found === undefined)
        known.push({ ...item, used: (this.#puts += 1), token: 0, until: 0, owner: '', holder: null })
      else Object.assign(found, item)
      return found === undefined ? 'created' : 'replaced'
    })
  }
  remove(items: readonly { id: string; token: number | null }[]): (boolean | 'lease_lost')[] {
    return items.map(({ id, token }) => {
      const item = token === null ? this.items.find((each) => each.id === id) : this.#held({ id, token })
      this.#items = this.#items.filter((each) => each !== item)
      return item === undefined && token !== null ? 'lease_lost' : item !== undefined
    })
  }
  /** @param tokens The tokens that the backend issued, in the order of the claims. */
  claim(
    requests: readonly ClaimRequest[],
    tokens: readonly number[],
  ): { id: string; token: number; tags: string; payload: string; expiresAtMs: number }[][] {
    const drawn = [...tokens]
    return requests.map(({ n, holdMs, match, owner, holder = null }) => {
      const free = this.items.filter(({ until }) => until <= this.#time.now).toSorted((a, b) => a.used - b.used)
      const fitting = free.filter(({ tags }) =>
        Object.entries(match).every(([tag, value]) =>
          Object.entries(JSON.parse(tags) as object).some(([name, is]) => name === tag && is === value),
        ),
      )
      return fitting.slice(0, n).map((item) => {
        item.used = item.token = drawn.shift() ?? Number.NaN
        item.until = this.#time.now + holdMs
        item.owner = owner
        item.holder = holder && { ...holder, claimedAtMs: this.#time.now, renewals: 0 }
        return { id: item.id, token: item.token, tags: item.tags, payload: item.payload, expiresAtMs: item.until }
      })
    })
  }
  extend(items: readonly (LeaseRef & { holdMs: number })[]): ExtendHoldResult[] {
    return items.map((ref) => {
      const item = this.#held(ref)
      if (item === undefined) return { kind: 'lease_lost' }
      item.holder = item.holder && { ...item.holder, renewals: item.holder.renewals + 1 }
      return { kind: 'extended', expiresAtMs: (item.until = Math.max(item.until, this.#time.now + ref.holdMs)) }
    })
  }
  release(refs: readonly LeaseRef[]): Settled[] {
    return refs.map((ref) => {
      const item = this.#held(ref)
      if (item !== undefined) item.until = 0
      return item === undefined ? 'lease_lost' : 'ok'
    })
  }
  list(): { size: number; items: PoolRow[] } {
    const items = this.items.map(({ id, tags, payload, expiresAtMs: expires, until }) => ({
      id,
      tags,
      payload,
      expiresAtMs: expires,
      inUseUntilMs: until > this.#time.now ? until : null,
    }))
    return { size: items.length, items }
  }
  claims(): { inUse: number; claims: ClaimRow[] } {
    const held = this.items.filter(({ until }) => until > this.#time.now)
    const claims = held
      .toSorted((a, b) => a.until - b.until || (a.id < b.id ? -1 : 1))
      .map(({ id, token, until, owner, holder }) => ({ id, token, expiresAtMs: until, owner, holder }))
    return { inUse: held.length, claims }
  }
  #held({ id, token }: LeaseRef): Item | undefined {
    return this.items.find((item) => item.id === id && item.token === token && item.until > this.#time.now)
  }
}

export class LocksModel {
  readonly #time: Time
  readonly #locks = new Map<string, { readonly token: number; until: number }>()

  constructor(time: Time) {
    this.#time = time
  }
  held(name: string): { readonly token: number; until: number } | undefined {
    const lock = this.#locks.get(name)
    return lock !== undefined && lock.until > this.#time.now ? lock : undefined
  }
  /** @param tokens The tokens that the backend issued, in the order of the acquired locks. */
  acquire(items: readonly { name: string; holdMs: number }[], tokens: readonly number[]): LockResult[] {
    const drawn = [...tokens]
    return items.map(({ name, holdMs }) => {
      const held = this.held(name)
      if (held !== undefined) return { kind: 'held', untilMs: held.until }
      const lock = { token: drawn.shift() ?? Number.NaN, until: this.#time.now + holdMs }
      this.#locks.set(name, lock)
      return { kind: 'acquired', token: lock.token, expiresAtMs: lock.until }
    })
  }
  extend(items: readonly { name: string; token: number; holdMs: number }[]): ExtendHoldResult[] {
    return items.map(({ name, token, holdMs }) => {
      const held = this.held(name)
      return held?.token !== token
        ? { kind: 'lease_lost' }
        : { kind: 'extended', expiresAtMs: (held.until = Math.max(held.until, this.#time.now + holdMs)) }
    })
  }
  release(items: readonly { name: string; token: number }[]): Settled[] {
    return items.map(({ name, token }) =>
      this.held(name)?.token === token && this.#locks.delete(name) ? 'ok' : 'lease_lost',
    )
  }
}

/** The whole content of a store, by type, pool or namespace. */
export class StoreModel {
  readonly fleet: FleetModel
  readonly values = new Map<string, { readonly value: string; readonly ends: number }>()
  readonly sums = new Map<string, number>()
  readonly operations = new OperationsModel()
  readonly #time: Time
  readonly #parts = new Map<string, object>()

  constructor(time: Time) {
    this.#time = time
    this.fleet = new FleetModel(time)
  }
  tasks = (type: string): TasksModel => this.#of(TasksModel, type)
  stream = (type: string): StreamModel => this.#of(StreamModel, type)
  pool = (name: string): PoolModel => this.#of(PoolModel, name)
  locks = (namespace: string): LocksModel => this.#of(LocksModel, namespace)
  #of<P extends object>(kind: new (time: Time) => P, name: string): P {
    const key = JSON.stringify([kind.name, name])
    const part = this.#parts.get(key) ?? new kind(this.#time)
    this.#parts.set(key, part)
    return part as P
  }
}
