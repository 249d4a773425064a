/** Tests what only SQLite has to do for groups of dead tasks: rows of an earlier release, and cleared rows (D160). */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from '@jest/globals'
import { errorGroup } from '../../../src/storage/index.ts'
import { TYPE, ids, inFlight, ManualClock, nack, start, task } from '../contract/fixture.ts'
import { backendOn, folders } from './fixture.ts'
import type { SqliteBackend } from '../../../src/storage/sqlite/index.ts'

const folder = folders()
const opened: SqliteBackend[] = []

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
})

async function openedAt(file: string, clock: ManualClock): Promise<SqliteBackend> {
  const backend = backendOn(file, clock)
  opened.push(backend)
  await start(backend)
  return backend
}

async function die(backend: SqliteBackend, error: string, ...names: readonly string[]): Promise<void> {
  const leases = await inFlight(backend, ...names.map((id) => task(id, { ownId: true })))
  await nack(backend, leases, { error, permanent: true })
}

const counts = async (backend: SqliteBackend): Promise<readonly (readonly [string, number])[]> =>
  (await backend.tasks.deadGroups(TYPE)).map(({ example, count }) => [example.lastError, count])

describe('groups of dead tasks in SQLite', () => {
  it('are made in bounded steps of rows that an earlier release has written', async () => {
    const file = folder().file
    mkdirSync(dirname(file), { recursive: true })
    const clock = new ManualClock()
    const backend = await openedAt(file, clock)
    await die(backend, 'code 1', 'a', 'b', 'c')
    await die(backend, 'else', 'd')
    await backend.close()
    const db = new Sqlite(file)
    // An earlier release replayed b, which died again of another error: its row keeps the group of its first death.
    db.exec(`UPDATE task SET egroup = NULL, egroup_ord = NULL WHERE id = 'a'`)
    db.exec(`UPDATE task SET ord = 99, error = 'else' WHERE id = 'b'`)
    db.close()
    await start(backend)
    expect(await counts(backend)).toEqual([
      ['else', 1],
      ['code 1', 1],
    ])
    expect(await backend.tasks.groupDead(TYPE, 1)).toBe(true)
    expect(await backend.tasks.groupDead(TYPE, 1)).toBe(true)
    expect(await backend.tasks.groupDead(TYPE, 1)).toBe(false)
    expect(await counts(backend)).toEqual([
      ['else', 2],
      ['code 1', 2],
    ])
    const { items } = await backend.tasks.newestDead(TYPE, errorGroup('code 2'), null, 10)
    expect(ids(items)).toEqual(['c', 'a'])
  })

  it('do not count rows that were cleared and are not removed yet', async () => {
    const backend = await openedAt(folder().file, new ManualClock())
    await die(backend, 'code 1', 'a', 'b')
    await backend.tasks.clearDead(TYPE)
    await die(backend, 'code 2', 'c')
    expect(await counts(backend)).toEqual([['code 2', 1]])
    await backend.close()
    await start(backend)
    expect(await counts(backend)).toEqual([['code 2', 1]])
    const { items } = await backend.tasks.newestDead(TYPE, errorGroup('code 1'), null, 10)
    expect(ids(items)).toEqual(['c'])
    expect(
      await backend.tasks.applyToDeadGroup(TYPE, {
        group: errorGroup('code 1'),
        action: 'replay',
        diedBeforeMs: 9_000_000_000_000,
        n: 10,
      }),
    ).toBe(1)
  })
})
