/** Tests what only SQLite has to do for task groups: the file, rollbacks, and a handle that fails (D119). */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Engine } from '../../../src/storage/sqlite/engine.ts'
import { SCHEMA } from '../../../src/storage/sqlite/schema.ts'
import { Session } from '../../../src/storage/sqlite/session.ts'
import { openStore } from '../../../src/storage/sqlite/store.ts'
import { DAY, MINUTE, TYPE, VISIBILITY, ids, ManualClock, registration, reserve, start } from '../contract/fixture.ts'
import { submit, task } from '../contract/fixture.ts'
import { backendOn, folders } from './fixture.ts'
import type { CallResult } from '../../../src/storage/sqlite/calls.ts'
import type { GroupPolicy, NewTask, StorageCall } from '../../../src/storage/index.ts'
import type { SqliteBackend } from '../../../src/storage/sqlite/index.ts'

const NOW = 1_700_000_000_000
const policy: GroupPolicy = { maxInFlight: 2, rate: { intervalMs: MINUTE, burst: 2 } }
const folder = folders()
const opened: SqliteBackend[] = []

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
})

async function openedAt(file: string, clock = new ManualClock()): Promise<SqliteBackend> {
  const backend = backendOn(file, clock)
  opened.push(backend)
  await start(backend)
  return backend
}

/** Reads the file of a closed store. */
function inFile<T>(file: string, read: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(file)
  try {
    return read(db)
  } finally {
    db.close()
  }
}

const versionOf = (file: string): unknown => inFile(file, (db) => db.pragma('user_version', { simple: true }))
const needsOf = (file: string): unknown =>
  inFile(file, (db) => db.prepare(`SELECT v FROM meta WHERE k = 'needs'`).pluck().get())
const call = (method: string, ...args: readonly unknown[]): StorageCall => ({ group: 'tasks', method, args })
const grouped = (id: string, more: Partial<NewTask> = {}): NewTask => task(id, { group: id.charAt(0), ...more })
const submitCall = (...tasks: readonly NewTask[]): StorageCall => call('submit', TYPE, DAY, tasks)
const request = { worker: 'w1', limit: 1, gen: 0, defaultMaxAttempts: 3 }
const reserveCall = call('reserve', TYPE, VISIBILITY, [request])
const groupsCall = call('groups', TYPE, 10)
const register: StorageCall = { group: 'workers', method: 'register', args: [[registration('w1', 'm1/0')]] }
/** Fails after its first item was stored, so all calls of its group are rolled back and run one by one. */
const broken = submitCall(grouped('a9'), grouped('b9', { body: null as unknown as string }))

const valueOf = (result: CallResult | undefined): unknown =>
  result?.kind === 'returned' ? result.value : { threw: result?.error.message }
const leasesOf = (result: CallResult | undefined): string[] => {
  const { results } = valueOf(result) as { results: readonly { leases: readonly { id: string }[] }[] }
  return results.flatMap(({ leases }) => ids(leases))
}

describe('the file', () => {
  it('has the need of groups before the first task in one, and before the first policy (D119, D121)', async () => {
    for (const change of [
      (backend: SqliteBackend) => submit(backend, grouped('a1')),
      (backend: SqliteBackend) => backend.tasks.setGroupPolicy(TYPE, policy),
    ]) {
      const { file } = folder()
      const backend = await openedAt(file)
      await submit(backend, 'plain')
      await backend.tasks.setGroupPolicy(TYPE, null)
      await backend.close()
      expect(versionOf(file)).toBe(SCHEMA)
      const again = await openedAt(file)
      await change(again)
      await again.close()
      expect([versionOf(file), needsOf(file)]).toEqual([SCHEMA + 1_000, 'groups'])
    }
  })

  it('gains what groups need where an earlier program wrote it, with its tasks in the group null', async () => {
    const { file } = folder()
    const first = await openedAt(file)
    await submit(first, 'old', 'old 2')
    await first.close()
    inFile(file, (db) => db.exec('DROP TABLE group_rate; DROP INDEX task_group; ALTER TABLE task DROP COLUMN grp'))
    const backend = await openedAt(file)
    await backend.tasks.setGroupPolicy(TYPE, { maxInFlight: 1, rate: null })
    await submit(backend, grouped('a1'), 'new')
    expect(ids(await reserve(backend))).toEqual(['old', 'a1'])
  })

  it('has no group in the rows of a type without groups', async () => {
    const { file } = folder()
    const backend = await openedAt(file)
    await submit(backend, 'a', 'b')
    await backend.close()
    expect(inFile(file, (db) => db.prepare('SELECT DISTINCT grp FROM task').pluck().all())).toEqual([null])
  })

  it('forgets a rate in the sweep after which it permits a whole burst', async () => {
    const { file } = folder()
    const clock = new ManualClock()
    const backend = await openedAt(file, clock)
    await backend.tasks.setGroupPolicy(TYPE, policy)
    await submit(backend, grouped('a1'), grouped('b1'), grouped('b2'))
    await reserve(backend)
    clock.advance(MINUTE)
    await backend.tasks.sweep(TYPE, 0, 500)
    await backend.close()
    expect(inFile(file, (db) => db.prepare('SELECT grp FROM group_rate').pluck().all())).toEqual(['b'])
  })
})

describe('a rollback', () => {
  function engineOn(file: string, ...calls: readonly StorageCall[]): Engine {
    const engine = new Engine({ path: file, newEpoch: 'e' })
    engine.open()
    engine.run({ nowMs: NOW, kind: 'write', calls: [register, ...calls] })
    return engine
  }

  it('undoes leases, starts and turns of groups, in memory and in the file', async () => {
    const { file } = folder()
    const tasks = ['a1', 'a2', 'a3', 'b1', 'b2'].map((id) => grouped(id))
    const engine = engineOn(file, call('setGroupPolicy', TYPE, policy), submitCall(...tasks))
    const calls = [reserveCall, call('cancel', TYPE, ['b2'], 'ada'), broken, reserveCall, groupsCall]
    const results = engine.run({ nowMs: NOW, kind: 'write', calls })
    expect(valueOf(results[2])).toMatchObject({ threw: expect.stringContaining('NOT NULL') })
    expect([leasesOf(results[0]), leasesOf(results[3])]).toEqual([['a1'], ['b1']])
    const groups = [
      { group: 'a', pending: 2, inFlight: 1, nextStartAtMs: null },
      { group: 'b', pending: 0, inFlight: 1, nextStartAtMs: null },
    ]
    expect(valueOf(results[4])).toEqual(groups)
    engine.close(NOW)
    const again = new Engine({ path: file, newEpoch: 'e' })
    again.open()
    const look = again.run({ nowMs: NOW, kind: 'write', calls: [call('setGroupPolicy', TYPE, policy), groupsCall] })
    expect(valueOf(look[1])).toEqual(groups)
    const [next, full, waiting] = again.run({
      nowMs: NOW,
      kind: 'write',
      calls: [reserveCall, reserveCall, groupsCall],
    })
    expect([leasesOf(next), leasesOf(full)]).toEqual([['a2'], []])
    expect(valueOf(waiting)).toMatchObject([{ group: 'a', pending: 1, inFlight: 2 }, { group: 'b' }])
    again.close(NOW)
  })

  it('undoes a change of the policy', async () => {
    const { file } = folder()
    const one: GroupPolicy = { maxInFlight: 1, rate: null }
    const engine = engineOn(file, submitCall(grouped('a1'), grouped('a2'), grouped('a3')))
    const set = (to: GroupPolicy | null): StorageCall => call('setGroupPolicy', TYPE, to)
    const run = (...calls: readonly StorageCall[]): readonly CallResult[] =>
      engine.run({ nowMs: NOW, kind: 'write', calls })
    expect(valueOf(run(set(one), broken, groupsCall)[2])).toMatchObject([{ group: 'a', pending: 3 }])
    expect(run(reserveCall, reserveCall).flatMap(leasesOf)).toEqual(['a1'])
    // The calls before the broken one run, are rolled back, and run again.
    expect(
      run(set(null), set({ maxInFlight: 2, rate: null }), broken, reserveCall)
        .slice(3)
        .flatMap(leasesOf),
    ).toEqual(['a2'])
    expect(run(reserveCall).flatMap(leasesOf)).toEqual([])
    engine.close(NOW)
  })
})

it('a policy that ends and returns in the transaction of a start keeps its rate', () => {
  const { file } = folder()
  const engine = new Engine({ path: file, newEpoch: 'e' })
  engine.open()
  const once: GroupPolicy = { maxInFlight: null, rate: { intervalMs: MINUTE, burst: 1 } }
  const set = (to: GroupPolicy | null): StorageCall => call('setGroupPolicy', TYPE, to)
  const tasks = submitCall(grouped('a1'), grouped('a2'))
  const calls = [register, set(once), tasks, reserveCall, set(null), set(once), reserveCall]
  const results = engine.run({ nowMs: NOW, kind: 'write', calls })
  expect([leasesOf(results[3]), leasesOf(results[6])]).toEqual([['a1'], []])
  engine.close(NOW)
})

it('a handle that failed is replaced by one with the same policies', () => {
  const { file } = folder()
  mkdirSync(dirname(file), { recursive: true })
  const policies = new Map<string, GroupPolicy>()
  const session = (isAfterFault: boolean): Session =>
    new Session(
      openStore(file, 'epoch', isAfterFault, () => undefined),
      policies,
      false,
    )
  const run = (on: Session, ...calls: readonly StorageCall[]): readonly CallResult[] => {
    const outcome = on.run({ nowMs: NOW, kind: 'write', calls })
    return outcome.kind === 'done' ? outcome.results : []
  }
  const first = session(false)
  run(
    first,
    register,
    call('setGroupPolicy', TYPE, policy),
    submitCall(...['a1', 'a2', 'a3', 'b1'].map((id) => grouped(id))),
  )
  expect(leasesOf(run(first, reserveCall)[0])).toEqual(['a1'])
  first.drop()
  const second = session(true)
  const results = run(second, reserveCall, reserveCall, reserveCall, groupsCall)
  expect(results.slice(0, 3).flatMap(leasesOf).toSorted()).toEqual(['a2', 'b1'])
  expect(valueOf(results[3])).toMatchObject([
    { group: 'a', pending: 1, inFlight: 2 },
    { group: 'b', inFlight: 1 },
  ])
  second.drop()
})
