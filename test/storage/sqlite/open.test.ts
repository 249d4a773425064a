/** Tests the file of a SQLite store: its path, modes, identity and structure, damage, and the time that it stores. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Log } from '../../../src/runtime/index.ts'
import { systemTime } from '../../../src/runtime/index.ts'
import { APPLICATION_ID, SCHEMA } from '../../../src/storage/sqlite/schema.ts'
import { declareNeed } from '../../../src/storage/sqlite/store.ts'
import { DAY, fails, ManualClock, TYPE, reserve, submit, task } from '../contract/fixture.ts'
import { backendOn, folders, THREAD_URL } from './fixture.ts'
import type { SqliteBackend, SqliteOptions } from '../../../src/storage/sqlite/index.ts'

const PAGE = 4_096
const opened: SqliteBackend[] = []
const folder = folders()

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
})

function backendAt(file: string, more: Partial<SqliteOptions> = {}): SqliteBackend {
  const backend = backendOn(file, new ManualClock(), more)
  opened.push(backend)
  return backend
}

const open = (backend: SqliteBackend): Promise<void> => backend.open(AbortSignal.timeout(30_000))

async function openedAt(file: string, more: Partial<SqliteOptions> = {}): Promise<SqliteBackend> {
  const backend = backendAt(file, more)
  await open(backend)
  return backend
}

/** Copies the files as a crash at this moment would leave them. */
function crashCopy(file: string, name: string): string {
  const copy = join(dirname(file), name)
  for (const suffix of ['', '-wal', '-synced'])
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
  chmodSync(copy, 0o600)
  return copy
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

function warnings(): { readonly received: string[]; readonly log: Log } {
  const received: string[] = []
  const ignore = (): void => undefined
  return {
    received,
    log: {
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (message) => void received.push(message),
      isEnabled: () => true,
    },
  }
}

describe('the file of a SQLite store', () => {
  it('is created for its owner only, in a folder for its owner only', async () => {
    const { file } = folder()
    await submit(await openedAt(file), 'a')
    expect(modeOf(dirname(file))).toBe('700')
    for (const name of readdirSync(dirname(file)))
      expect([name, modeOf(join(dirname(file), name))]).toEqual([name, '600'])
    // There is no shared-memory file.
    expect(readdirSync(dirname(file)).toSorted()).toEqual(['master.db', 'master.db-synced', 'master.db-wal'])
  })

  it('is restricted to its owner, with a warning, if others could read it', async () => {
    const { file } = folder()
    const first = await openedAt(file)
    await first.close()
    chmodSync(file, 0o644)
    chmodSync(dirname(file), 0o755)
    const { received, log } = warnings()
    await openedAt(file, { log })
    expect([modeOf(file), modeOf(dirname(file))]).toEqual(['600', '700'])
    expect(received).toEqual([expect.stringContaining('mode 755'), expect.stringContaining('mode 644')])
  })

  it('gains tables and columns that an earlier program did not create, and stays open to that program', async () => {
    const { file } = folder()
    const first = await openedAt(file)
    await submit(first, 'a')
    await first.close()
    const earlier = new Sqlite(file)
    const version = earlier.pragma('user_version', { simple: true })
    earlier.exec('DROP TABLE pause; DROP TABLE outcome; ALTER TABLE task DROP COLUMN retain')
    earlier.close()
    const backend = await openedAt(file)
    const [stored] = await reserve(backend)
    await submit(backend, task('b', { retainMs: DAY }))
    const [retained] = await reserve(backend)
    if (stored === undefined || retained === undefined) throw new Error('both tasks are pending')
    expect(await backend.tasks.ack(TYPE, [stored, retained])).toEqual(['ok', 'ok'])
    const pause = { note: null, actor: 'ada', untilMs: null }
    await backend.tasks.pause(TYPE, pause)
    await backend.close()
    const again = await openedAt(file)
    expect((await again.tasks.queue(TYPE, 1)).paused).toMatchObject(pause)
    expect(await again.tasks.describe(TYPE, ['a', 'b'])).toMatchObject([null, { kind: 'done' }])
    expect(version).toBe(SCHEMA)
  })

  it('is a single file after a clean stop', async () => {
    const { file } = folder()
    const backend = await openedAt(file)
    await submit(backend, 'a')
    await backend.close()
    expect(readdirSync(dirname(file))).toEqual(['master.db'])
  })

  it('is rejected if it is a folder or a link', async () => {
    const { path } = folder()
    mkdirSync(join(path, 'folder'))
    writeFileSync(join(path, 'real'), '')
    symlinkSync(join(path, 'real'), join(path, 'link'))
    for (const name of ['folder', 'link']) {
      await expect(open(backendAt(join(path, name)))).rejects.toEqual(
        expect.objectContaining({
          code: 'STORAGE_UNAVAILABLE',
          message: expect.stringContaining('is not a regular file'),
        }),
      )
    }
  })

  it('accepts one backend at a time, even in the same process (D33)', async () => {
    const { file } = folder()
    const first = await openedAt(file)
    for (const more of [{}, { threadUrl: THREAD_URL }]) {
      await expect(open(backendAt(file, more))).rejects.toEqual(
        expect.objectContaining({
          code: 'STORAGE_LOCKED',
          message: expect.stringContaining('another master uses this file'),
        }),
      )
    }
    await submit(first, 'a')
    await first.close()
    expect(await reserve(await openedAt(file))).toHaveLength(1)
  })
})

describe('a file that is not a Muster store', () => {
  it('is rejected and not changed', async () => {
    const { path } = folder()
    const text = join(path, 'text')
    writeFileSync(text, 'not a database, but long enough to be looked at as one\n'.repeat(100), { mode: 0o600 })
    const foreign = join(path, 'foreign.db')
    new Sqlite(foreign).exec('CREATE TABLE t(x)').close()
    const claimed = join(path, 'claimed.db')
    new Sqlite(claimed).exec('PRAGMA application_id = 77').close()
    for (const file of [text, foreign, claimed]) {
      chmodSync(file, 0o600)
      const before = readFileSync(file)
      await expect(open(backendAt(file))).rejects.toEqual(
        expect.objectContaining({ code: 'STORAGE_CORRUPT', message: expect.stringContaining(file) }),
      )
      expect(readFileSync(file).equals(before)).toBe(true)
    }
  })

  it('is rejected if a newer release wrote it', async () => {
    const { file } = folder()
    await (await openedAt(file)).close()
    const db = new Sqlite(file)
    expect(db.pragma('application_id', { simple: true })).toBe(APPLICATION_ID)
    db.pragma(`user_version = ${SCHEMA + 1}`)
    db.close()
    await expect(open(backendAt(file))).rejects.toEqual(
      expect.objectContaining({ code: 'STORAGE_SCHEMA', message: expect.stringContaining(`schema ${SCHEMA + 1}`) }),
    )
  })

  it('is opened if it has a known need, and rejected if it has an unknown one (D121)', async () => {
    const { file } = folder()
    await (await openedAt(file)).close()
    let db = new Sqlite(file)
    for (let times = 0; times < 2; times += 1) declareNeed(db, 'unique')
    db.close()
    await (await openedAt(file)).close()
    db = new Sqlite(file)
    expect(db.pragma('user_version', { simple: true })).toBe(SCHEMA + 1_000)
    expect(db.prepare(`SELECT v FROM meta WHERE k = 'needs'`).pluck().get()).toBe('unique')
    db.prepare(`UPDATE meta SET v = 'unique later' WHERE k = 'needs'`).run()
    db.close()
    await expect(open(backendAt(file))).rejects.toEqual(
      expect.objectContaining({
        code: 'STORAGE_SCHEMA',
        message: `${file} has data that needs "later", which this release does not know; upgrade this program`,
      }),
    )
  })
})

it('records the need of unique keys before the first task that has one (D118, D121)', async () => {
  const { file } = folder()
  const recorded = (): unknown => {
    const db = new Sqlite(file)
    const version = db.pragma('user_version', { simple: true })
    db.close()
    return version
  }
  const first = await openedAt(file)
  await submit(first, 'plain')
  await first.close()
  expect(recorded()).toBe(SCHEMA)
  const second = await openedAt(file)
  await submit(second, task('a', { unique: { key: 'k', until: 'started', onConflict: 'keep' } }))
  await second.close()
  expect(recorded()).toBe(SCHEMA + 1_000)
})

/** Fills the tables of a store. All data is in the file and none in the log. */
async function filled(file: string): Promise<void> {
  const backend = await openedAt(file)
  for (let batch = 0; batch < 4; batch += 1) {
    await backend.tasks.submit(
      TYPE,
      DAY,
      Array.from({ length: 500 }, (_, i) => task(`t${batch}-${i}`, { body: JSON.stringify('x'.repeat(300)) })),
    )
  }
  await backend.close()
}

function markUnclean(file: string): void {
  const db = new Sqlite(file)
  db.exec(`UPDATE meta SET v = 0 WHERE k = 'clean'`)
  db.close()
}

function zeroPage(file: string, page: number): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(PAGE), 0, PAGE, (page - 1) * PAGE)
  closeSync(handle)
}

function flipByte(file: string, offset: number): void {
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 1, offset)
  writeFileSync(file, bytes)
}

describe('a damaged SQLite store', () => {
  it('does not start after an unclean stop, and reports the file and the damage', async () => {
    const { file } = folder()
    await filled(file)
    markUnclean(file)
    const pages = statSync(file).size / PAGE
    let refused = 0
    for (const page of [1, 3, Math.floor(pages / 3), Math.floor(pages / 2), pages - 1]) {
      const copy = crashCopy(file, `page-${page}.db`)
      zeroPage(copy, page)
      await expect(open(backendAt(copy))).rejects.toEqual(
        expect.objectContaining({ code: 'STORAGE_CORRUPT', message: expect.stringContaining(copy) }),
      )
      refused += 1
    }
    expect(refused).toBe(5)
  })

  it('is detected at the first use after a clean stop, and then every call is rejected', async () => {
    const { file } = folder()
    await filled(file)
    const db = new Sqlite(file)
    const root = db.prepare<[], number>(`SELECT rootpage FROM sqlite_schema WHERE name = 'body'`).pluck().get() ?? 0
    db.close()
    zeroPage(file, root)
    const backend = await openedAt(file)
    await expect(backend.tasks.queue(TYPE, 10)).rejects.toEqual(fails('STORAGE_CORRUPT'))
    await expect(backend.kv.get('n', ['k'])).rejects.toEqual(fails('STORAGE_CORRUPT'))
    expect(backend.health()).toMatchObject({ ok: false, detail: expect.stringContaining('is damaged') })
  })

  it('has every other task after a bit of one payload flipped', async () => {
    const { file } = folder()
    const backend = await openedAt(file)
    const bodyOf = (id: string): string => JSON.stringify({ payload: `payload of ${id}` })
    await submit(backend, ...['a', 'b', 'c'].map((id) => task(id, { body: bodyOf(id) })))
    await backend.close()
    const bytes = readFileSync(file)
    const at = bytes.indexOf('payload of b')
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    writeFileSync(file, bytes)
    const leases = await reserve(await openedAt(file))
    expect(leases.map(({ body }) => body)).toEqual([
      bodyOf('a'),
      bodyOf('b').replace('payload of', 'qayload of'),
      bodyOf('c'),
    ])
  })

  it('opens without the torn end of its log, and keeps everything before it', async () => {
    const { file } = folder()
    const backend = await openedAt(file)
    await submit(backend, 'a')
    const before = statSync(`${file}-wal`).size
    const mark = readFileSync(`${file}-synced`) // The mark is written after the fsync that a power cut prevents.
    await submit(backend, 'b')
    const after = statSync(`${file}-wal`).size
    for (const cut of [1, 17, PAGE, after - before - 1]) {
      const copy = crashCopy(file, `cut-${cut}.db`)
      truncateSync(`${copy}-wal`, after - cut)
      writeFileSync(`${copy}-synced`, mark)
      const reopened = await openedAt(copy)
      expect((await reserve(reopened)).map(({ id }) => id)).toEqual(['a'])
    }
  })

  it('does not start when its log is damaged before a confirmed change, and says what to do (G1)', async () => {
    const { file } = folder()
    const backend = await openedAt(file)
    await submit(backend, 'a')
    const first = statSync(`${file}-wal`).size
    for (const id of ['b', 'c', 'd']) await submit(backend, id)
    const last = statSync(`${file}-wal`).size
    const salt = 8
    for (const at of [first + salt, first + PAGE / 2, last - 1]) {
      const copy = crashCopy(file, `flipped-${at}.db`)
      flipByte(`${copy}-wal`, at)
      const message = expect.stringMatching(
        new RegExp(`${copy}-wal is damaged at byte \\d+.*remove ${copy}-synced`),
      ) as unknown
      for (const attempt of [1, 2]) {
        const refused = open(backendAt(copy)).catch((error: unknown) => ({ attempt, error }))
        expect(await refused).toEqual({ attempt, error: expect.objectContaining({ code: 'STORAGE_CORRUPT', message }) })
      }
      rmSync(`${copy}-synced`)
      expect(await (await openedAt(copy)).tasks.locate(TYPE, ['a'])).toEqual(['pending'])
    }
  })

  it.each(['no mark', 'a torn mark', 'the mark of an earlier log'])('opens with %s', async (which) => {
    const { file } = folder()
    const backend = await openedAt(file)
    for (const id of ['a', 'b', 'c', 'd']) await submit(backend, id)
    const copy = crashCopy(file, 'copy.db')
    const mark = readFileSync(`${copy}-synced`)
    if (which === 'no mark') rmSync(`${copy}-synced`)
    if (which === 'a torn mark') truncateSync(`${copy}-synced`, 9)
    if (which === 'the mark of an earlier log') {
      const earlier = backendAt(copy)
      await open(earlier)
      await submit(earlier, 'e')
      crashCopy(copy, 'later.db')
      writeFileSync(join(dirname(copy), 'later.db-synced'), mark)
      expect(readFileSync(`${copy}-synced`)).not.toEqual(mark)
      expect(await (await openedAt(join(dirname(copy), 'later.db'))).tasks.locate(TYPE, ['a', 'e'])).toEqual([
        'pending',
        'pending',
      ])
      return
    }
    expect(await (await openedAt(copy)).tasks.locate(TYPE, ['a', 'd'])).toEqual(['pending', 'pending'])
  })

  it('is not migrated and loses nothing when it is opened repeatedly', async () => {
    const { file } = folder()
    await filled(file)
    for (let life = 0; life < 3; life += 1) {
      const backend = await openedAt(file)
      expect((await backend.tasks.counts([TYPE]))[0]?.tiers).toEqual([0, 2_000, 0])
      await backend.close()
    }
  })
})

describe('the time of a SQLite store', () => {
  it('never returns a time before one that it returned earlier, even if the wall clock did', async () => {
    const { file } = folder()
    const clock = new ManualClock()
    const backend = backendOn(file, clock)
    opened.push(backend)
    await open(backend)
    await submit(backend, 'a')
    clock.advance(DAY)
    await submit(backend, 'b')
    const { nowMs } = await backend.meta.info()
    await backend.close()
    const earlier = new ManualClock()
    const again = backendOn(file, earlier)
    opened.push(again)
    await open(again)
    expect((await again.meta.info()).nowMs).toBe(nowMs)
    earlier.advance(1_000)
    expect((await again.meta.info()).nowMs).toBe(nowMs + 1_000)
  })

  it('starts at the wall clock in a new store', async () => {
    const { file } = folder()
    const backend = backendOn(file, systemTime)
    opened.push(backend)
    await open(backend)
    expect(Math.abs((await backend.meta.info()).nowMs - systemTime.wallMs())).toBeLessThan(5_000)
  })
})
