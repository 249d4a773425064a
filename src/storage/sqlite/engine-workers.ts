/**
 * @module storage/sqlite/engine-workers
 * The records of workers, and the ring of their stats frames.
 *
 * `drain` holds to whom a drain is bound: null none; '' the process that registers next; `i<instance>` the process of
 * that instance; `c<conn>` the process on that connection, where it sent no instance (D6). `state` is what was reported
 * last; a record with a drain reads DRAINING. The newest frame is the newest of the ring, unless it was cut for the
 * ring: then `stats` holds the whole.
 */
import { MAX_ANSWER_BYTES, STATS_FRAMES, type ReportedState } from '../../protocol/index.ts'
import {
  cutError,
  ringFrame,
  timeOfFrame,
  type WorkerReport,
  type ReportResult,
  type Ref,
  type RegisterResult,
  type Registration,
  type StatsHistory,
  type WorkerRow,
  type Workers,
} from '../index.ts'
import type { Sync } from './calls.ts'
import type { Database } from './driver.ts'
import type { Masters } from './masters.ts'
import { KIND, type Names } from './names.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_WORKERS = 50_000
const MAX_FORGOTTEN = 1_000_000

interface Known {
  readonly instance: string
  readonly conn: string | null
  readonly state: ReportedState
  readonly lastError: string | null
  readonly appliedGen: number | null
  readonly since: number
  readonly drain: string | null
  readonly frames: number
  readonly gen: number
}
interface Stored extends Omit<WorkerRow, 'type' | 'connected' | 'draining' | 'config'> {
  readonly drain: string | null
  readonly gen: number
  readonly config: string
  readonly changedAtMs: number | null
  readonly actor: string | null
}

const ROW = `SELECT worker.id, conn, registered AS registeredAtMs, hardware, state, since AS stateSinceMs, seen AS lastSeenAtMs, error AS lastError, drain, managed_by AS managedBy,
    applied_gen AS appliedGen, gen, config, changed AS changedAtMs, actor, coalesce(stats, frame) AS stats
  FROM worker JOIN cfg USING(type, id) LEFT JOIN stat ON stat.type = worker.type AND stat.id = worker.id AND slot = (frames - 1) % ${STATS_FRAMES}`

/** To whom a drain asked for now is bound. */
const bindingOf = ({ instance, conn }: { readonly instance: string; readonly conn: string }): string =>
  instance === '' ? `c${conn}` : `i${instance}`

export function workersOf(db: Database, txn: Transaction, names: Names, masters: Masters): Sync<Workers> {
  const find = db.prepare<[number, string], Known>(
    'SELECT instance, conn, state, error AS lastError, applied_gen AS appliedGen, since, drain, frames, gen FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?',
  )
  const one = db.prepare<[number, string], Stored>(`${ROW} WHERE worker.type = ? AND worker.id = ?`)
  const some = db.prepare<[number, string, number], Stored>(
    `${ROW} WHERE worker.type = ? AND worker.id > ? ORDER BY worker.id LIMIT ?`,
  )
  const setConn = db.prepare<[string | null, number, number, string]>(
    'UPDATE worker SET conn = ?, since = ? WHERE type = ? AND id = ?',
  )
  const setDrain = db.prepare<[string, number, number, string]>(
    'UPDATE worker SET drain = ?, since = ? WHERE type = ? AND id = ?',
  )
  const setManaged = db.prepare<[string | null, number, string]>(
    'UPDATE worker SET managed_by = ? WHERE type = ? AND id = ?',
  )
  const registering = registrationOf(db, txn, names, find)
  const beat = beatsOf(db, txn, names, find)
  const forget = forgettingOf(db, txn, registering.sizes)

  function known<A>(refs: readonly Ref[], missing: A, act: (type: number, id: string, worker: Known) => A): A[] {
    return refs.map((ref) => {
      const type = names.find(KIND.type, ref.type)
      const worker = type === undefined ? undefined : find.get(type, ref.id)
      return type === undefined || worker === undefined ? missing : act(type, ref.id, worker)
    })
  }
  function rowOf(type: string, { drain, gen, config, changedAtMs, actor, ...stored }: Stored): WorkerRow {
    const draining = drain !== null
    return {
      type,
      ...stored,
      connected: masters.holds(stored.conn),
      state: draining ? 'DRAINING' : stored.state,
      draining,
      config: { gen, config, changedAtMs, actor },
    }
  }
  return {
    register: (items) => items.map((item) => registering.register(item)),
    beat: (items) => items.map(beat),
    disconnect(items) {
      for (const { type: typeName, id, conn } of items) {
        known([{ type: typeName, id }], undefined, (type, _id, worker) => {
          if (worker.conn === conn) setConn.run(null, txn.nowMs, type, id)
        })
      }
    },
    drain: (refs) =>
      known<{ conn: string | null } | 'not_found'>(refs, 'not_found', (type, id, worker) => {
        const { instance, conn } = worker
        const drain = conn !== null && masters.holds(conn) ? bindingOf({ instance, conn }) : ''
        setDrain.run(drain, worker.drain === null ? txn.nowMs : worker.since, type, id)
        return { conn }
      }),
    manage(items) {
      return items.flatMap(({ managedBy, ...ref }) =>
        known<'ok' | 'not_found'>([ref], 'not_found', (type, id) => {
          setManaged.run(managedBy, type, id)
          return 'ok'
        }),
      )
    },
    forget: (refs) => known(refs, false, forget),
    get: (refs) =>
      refs.map((ref) => {
        const type = names.find(KIND.type, ref.type)
        const stored = type === undefined ? undefined : one.get(type, ref.id)
        return stored === undefined ? null : rowOf(ref.type, stored)
      }),
    page(typeName, after, limit, bytes = MAX_ANSWER_BYTES) {
      const type = names.find(KIND.type, typeName)
      const page: WorkerRow[] = []
      let chars = 0
      if (type !== undefined)
        for (const stored of some.iterate(type, after ?? '', limit)) {
          chars +=
            stored.hardware.length +
            stored.config.length +
            (stored.lastError?.length ?? 0) +
            (stored.stats?.length ?? 0)
          if (chars > bytes && page.length > 0) break
          page.push(rowOf(typeName, stored))
        }
      return page
    },
  }
}

type Find = { get(type: number, id: string): Known | undefined }

function registrationOf(
  db: Database,
  txn: Transaction,
  names: Names,
  find: Find,
): { register(item: Registration): RegisterResult; sizes: Sizes } {
  const insert = db.prepare<
    [number, string, string, string, number, string, number, number]
  >(`INSERT INTO worker(type, id, instance, conn, registered, hardware, state, since, seen, frames)
    VALUES(?, ?, ?, ?, ?, ?, 'IDLE', ?, ?, 0)`)
  const insertConfig = db.prepare<[number, string, string]>(`INSERT INTO cfg(type, id, gen, config) VALUES(?, ?, 0, ?)
    ON CONFLICT(type, id) DO UPDATE SET gen = gen + 1, config = excluded.config, changed = NULL, actor = NULL RETURNING gen`)
  const renew = db.prepare<
    [string, string, string, ReportedState, number, number, string | null, number, string]
  >(`UPDATE worker
    SET instance = ?, conn = ?, hardware = ?, state = ?, since = ?, seen = ?, drain = ? WHERE type = ? AND id = ?`)
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM worker WHERE type = ?')

  function create(type: number, { id, instance, conn, hardware, defaults }: Registration): RegisterResult {
    if (sizes.of(type) >= MAX_WORKERS) return 'full'
    sizes.add(type, 1)
    insert.run(type, id, instance, conn, txn.nowMs, hardware, txn.nowMs, txn.nowMs)
    const { gen } = insertConfig.get(type, id, defaults) as { gen: number }
    return { previous: null, drain: false, replaced: null, gen }
  }
  function register(item: Registration): RegisterResult {
    const type = names.number(KIND.type, item.type)
    const worker = find.get(type, item.id)
    if (worker === undefined) return create(type, item)
    const isBound = worker.drain !== null && (worker.drain === '' || worker.drain === bindingOf(item))
    const isOver = worker.drain !== null && !isBound
    renew.run(
      item.instance,
      item.conn,
      item.hardware,
      isOver ? 'IDLE' : worker.state,
      txn.nowMs,
      txn.nowMs,
      isBound ? bindingOf(item) : null,
      type,
      item.id,
    )
    const { lastError, appliedGen } = worker
    const before = { state: worker.drain === null ? worker.state : 'DRAINING', lastError, appliedGen } as const
    return {
      previous: before,
      drain: isBound,
      replaced: worker.conn === item.conn ? null : worker.conn,
      gen: worker.gen,
    } // A register may be repeated.
  }
  return { register, sizes }
}

function beatsOf(db: Database, txn: Transaction, names: Names, find: Find): (item: WorkerReport) => ReportResult {
  const see = db.prepare<[number, number, string]>('UPDATE worker SET seen = ? WHERE type = ? AND id = ?')
  const setState = db.prepare<[ReportedState, number, number, string | null, number, string]>(
    'UPDATE worker SET state = ?, since = ?, applied_gen = ?, error = ? WHERE type = ? AND id = ?',
  )
  const setStats = db.prepare<[number, string | null, number, string]>(
    'UPDATE worker SET frames = ?, stats = ? WHERE type = ? AND id = ?',
  )
  const putFrame = db.prepare<
    [number, string, number, number, number, string]
  >(`INSERT INTO stat(type, id, slot, n, ts, frame) VALUES(?, ?, ?, ?, ?, ?)
    ON CONFLICT(type, id, slot) DO UPDATE SET n = excluded.n, ts = excluded.ts, frame = excluded.frame`)

  function append(type: number, id: string, frames: number, stats: readonly string[]): void {
    let [n, whole] = [frames, null as string | null]
    for (const text of stats) {
      const ring = ringFrame(text)
      putFrame.run(type, id, n % STATS_FRAMES, n, timeOfFrame(ring), ring)
      whole = ring === text ? null : text
      n += 1
    }
    setStats.run(n, whole, type, id)
  }
  return ({ type: typeName, id, conn, state, stats }) => {
    const type = names.find(KIND.type, typeName)
    const worker = type === undefined ? undefined : find.get(type, id)
    if (type === undefined || worker === undefined) return { status: 'unknown', gen: 0 }
    if (worker.conn !== conn) return { status: 'replaced', gen: worker.gen }
    see.run(txn.nowMs, type, id)
    if (state !== undefined) {
      const changes = worker.drain === null && state.state !== worker.state
      setState.run(
        state.state,
        changes ? txn.nowMs : worker.since,
        state.gen,
        state.lastError === null ? null : cutError(state.lastError),
        type,
        id,
      )
    }
    if (stats !== undefined && stats.length > 0) append(type, id, worker.frames, stats)
    return { status: worker.drain === null ? 'ok' : 'drain', gen: worker.gen }
  }
}

function forgettingOf(db: Database, txn: Transaction, sizes: Sizes): (type: number, id: string) => boolean {
  const statements = [
    'DELETE FROM worker WHERE type = ? AND id = ?',
    'DELETE FROM cfg_history WHERE type = ? AND id = ?',
    'DELETE FROM stat WHERE type = ? AND id = ?',
    'UPDATE cfg SET config = NULL, changed = NULL, actor = NULL WHERE type = ? AND id = ?',
  ].map((sql) => db.prepare<[number, string]>(sql))
  const dropLowest = db.prepare<[number]>(
    'DELETE FROM cfg WHERE (type, id) IN (SELECT type, id FROM cfg WHERE type = ? AND config IS NULL ORDER BY gen LIMIT 1)',
  )
  const generations = new Sizes(db, txn, 'SELECT count(*) FROM cfg WHERE type = ?')
  return (type, id) => {
    const forgotten = generations.of(type) - sizes.of(type)
    sizes.add(type, -1)
    for (const statement of statements) statement.run(type, id)
    if (forgotten >= MAX_FORGOTTEN) {
      dropLowest.run(type)
      generations.add(type, -1)
    }
    return true
  }
}

export function statsOf(db: Database, names: Names): Sync<StatsHistory> {
  const exists = db.prepare<[number, string], number>('SELECT 1 FROM worker WHERE type = ? AND id = ?').pluck()
  const newest = db
    .prepare<[number, string, number, number], string>(
      'SELECT frame FROM stat WHERE type = ? AND id = ? AND ts >= ? ORDER BY n DESC LIMIT ?',
    )
    .pluck()
  return {
    read({ type: typeName, id }, sinceSeconds, limit) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined || exists.get(type, id) === undefined) return 'not_found'
      return newest.all(type, id, sinceSeconds, limit).toReversed()
    },
  }
}
