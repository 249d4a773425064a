/**
 * Opens the stores that earlier releases wrote, with the current program. `hack/update-golden.mjs` makes them; they are
 * never changed afterwards.
 */
import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import Sqlite from 'better-sqlite3'
import { freePort } from '../kit/index.ts'
import { RedisServer, withRedisServer } from '../kit/redis-server.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import {
  readsOf,
  redisOf,
  releaseOf,
  sqliteOf,
  startGolden,
  timeOf,
  type Contents,
  type GoldenMaster,
  type Release,
} from './fleet.ts'

const RELEASES = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const AUTOMATION = '/automations/mailer'

let current: Release
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  current = await releaseOf(process.cwd())
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const contentsOf = (release: string): Readonly<Record<'sqlite' | 'redis', Contents>> =>
  JSON.parse(readFileSync(join(import.meta.dirname, release, 'contents.json'), 'utf8')) as ReturnType<typeof contentsOf>

/** Copies the file of a release. @returns the path of the copy. */
function sqliteCopy(release: string): string {
  const folder = temporaryFolder()
  cpSync(join(import.meta.dirname, release, 'master.db'), join(folder, 'master.db'))
  return join(folder, 'master.db')
}

/** A server on a copy of the append-only file of a release, which is not yet running. */
async function redisCopy(release: string): Promise<RedisServer> {
  const server = new RedisServer(await freePort(), { appendfsync: 'always', maxmemoryPolicy: 'noeviction' })
  closing.push(() => server.close())
  cpSync(join(import.meta.dirname, release, 'appendonlydir'), join(server.folder, 'appendonlydir'), { recursive: true })
  return server
}

async function opened(backend: (time: ReturnType<typeof timeOf>) => ReturnType<typeof sqliteOf>, wallMs: number) {
  const time = timeOf(current, wallMs)
  const master = await startGolden(current, backend(time), time)
  closing.push(() => master.stop())
  return master
}

/** Compares the store with its list, then works with it: what was promised before the upgrade is still true. */
async function check(master: GoldenMaster, { reads, lease, lock, idempotent }: Contents): Promise<void> {
  expect(await readsOf(master)).toMatchObject(reads)

  const task = { payload: { to: 'x' }, idempotency_key: idempotent.key }
  expect((await master.call('POST', `${AUTOMATION}/tasks`, task)).body).toMatchObject({ task_id: idempotent.task_id })
  const next = await master.rpc('tasks.reserve', { limit: 100 })
  expect(next.tasks.map(({ token }: { token: number }) => token > lease.token)).toEqual(Array(8).fill(true))
  expect(await master.rpc('tasks.ack', { tasks: [{ ...lease, token: lease.token + 1 }] })).toMatchObject({
    results: [{ ok: false, error: 'lease_lost' }],
  })
  expect(await master.rpc('tasks.ack', { tasks: [lease] })).toMatchObject({ results: [{ ok: true }] })
  expect(await master.rpc('lock.release', lock)).toEqual({})
  const { token } = await master.rpc('lock.acquire', { name: lock.name, hold_ms: 1_000 })
  expect(token).toBeGreaterThan(lock.token)
  const config = `${AUTOMATION}/workers/w-1/config`
  expect((await master.call('PATCH', config, { host: 'fourth' })).body).toMatchObject({ config_gen: 4 })
}

/** The hash of each file of a folder. */
const hashes = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const hash = createHash('sha256')
        .update(readFileSync(join(parentPath, name)))
        .digest('hex')
      return `${parentPath}/${name} ${hash}`
    })
    .toSorted()

describe('golden stores', () => {
  it('exist for this release and for earlier ones', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(RELEASES).toContain(version)
    expect(RELEASES.length).toBeGreaterThan(1)
  })
})

describe.each(RELEASES)('the SQLite file of %s', (release) => {
  it('opens and contains what that release put into it (G27)', async () => {
    const contents = contentsOf(release).sqlite
    const path = sqliteCopy(release)
    await check(await opened((time) => sqliteOf(current, path, time), contents.wallMs), contents)
  })
})

withRedisServer('the append-only files of all releases', () => {
  describe.each(RELEASES)('the append-only file of %s', (release) => {
    it('opens and contains what that release put into it (G27)', async () => {
      const contents = contentsOf(release).redis
      const server = await redisCopy(release)
      await server.start()
      await check(await opened((time) => redisOf(current, server.url, time), contents.wallMs), contents)
    })
  })

  describe('an older program', () => {
    it('refuses the append-only file of a newer release and changes no byte of it (G27)', async () => {
      const [release = ''] = RELEASES
      const server = await redisCopy(release)
      await server.start()
      expect(await server.connect().hset('muster:{m}:info', 'schema', '999')).toBe(0)
      await server.stop()
      const before = hashes(join(server.folder, 'appendonlydir'))
      await server.start()
      const time = timeOf(current)
      await expect(startGolden(current, redisOf(current, server.url, time), time)).rejects.toMatchObject({
        code: 'STORAGE_SCHEMA',
      })
      await server.stop()
      expect(hashes(join(server.folder, 'appendonlydir'))).toEqual(before)
    })
  })
})

describe('an older program', () => {
  it('refuses the SQLite file of a newer release and changes no byte of it (G27)', async () => {
    const [release = ''] = RELEASES
    const path = sqliteCopy(release)
    const db = new Sqlite(path)
    const version = db.pragma('user_version', { simple: true }) as number
    db.pragma(`user_version = ${version + 1}`)
    db.close()
    const before = hashes(join(path, '..'))
    const time = timeOf(current)
    await expect(startGolden(current, sqliteOf(current, path, time), time)).rejects.toMatchObject({
      code: 'STORAGE_SCHEMA',
    })
    expect(hashes(join(path, '..'))).toEqual(before)
  })
})
