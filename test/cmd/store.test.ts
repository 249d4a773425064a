/** Tests `muster store info` on files and on a real Redis: what it shows, and that it changes nothing. */
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { run } from '../../src/cmd/store.ts'
import { SettingsError } from '../../src/cmd/settings.ts'
import { MasterReleases } from '../../src/master/master-releases.ts'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { declareNeed } from '../../src/storage/sqlite/store.ts'
import { freePort } from '../kit/index.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { backendOn } from '../storage/sqlite/fixture.ts'
import { ManualClock, submit, task, TYPE } from '../storage/contract/fixture.ts'

const opened: Backend[] = []
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
})
async function openedBackend<T extends Backend>(backend: T): Promise<T> {
  opened.push(backend)
  await backend.open(AbortSignal.timeout(30_000))
  return backend
}

async function info(url: string, ...more: readonly string[]): Promise<string> {
  let text = ''
  const code = await run(['info', ...more], { SVC_BACKEND_URL: url }, (written) => void (text += written))
  expect(code).toBe(0)
  return text
}
const json = async (url: string): Promise<object> => JSON.parse(await info(url, '-o', 'json')) as object

describe('muster store info of a file', () => {
  let folder: string
  let file: string
  let url: string
  beforeEach(() => {
    folder = temporaryFolder()
    file = join(folder, 'master.db')
    url = `filedb://${file}`
  })

  /** Name, size and time of each file of the folder. */
  const files = (): readonly string[] =>
    readdirSync(folder).map((name) => {
      const { mtimeMs, size } = statSync(join(folder, name))
      return `${name} ${size} ${mtimeMs}`
    })
  const open = (): Promise<Backend> => openedBackend(backendOn(file, new ManualClock()))
  async function createStore(change: (db: Sqlite.Database) => void = () => undefined): Promise<void> {
    await (await open()).close()
    const db = new Sqlite(file)
    change(db)
    db.close()
  }

  it('says that a store that does not exist is empty, and creates nothing', async () => {
    expect(await info(url)).toBe(`${url} is empty: no master has used it\n`)
    expect(await json(url)).toEqual({
      store: url,
      empty: true,
      schema: null,
      layout: null,
      needs: [],
      epoch: null,
      masters: null,
    })
    expect(files()).toEqual([])
  })

  it('shows layout, needs and epoch, and changes no file', async () => {
    await createStore((db) => declareNeed(db, 'groups'))
    const before = files()
    const epoch = /epoch {4}(\S+)/.exec(await info(url))?.[1]
    expect(await info(url)).toBe(
      `store    ${url}\nlayout   1\nschema   1001\nneeds    groups\nepoch    ${epoch}\n` +
        'masters  not recorded, because a file serves one master\n',
    )
    expect(await json(url)).toMatchObject({ empty: false, schema: 1_001, layout: 1, needs: ['groups'], masters: null })
    expect(files()).toEqual(before)
  })

  it('shows a store of a newer release, with needs that this one does not know', async () => {
    await createStore((db) => {
      declareNeed(db, 'unique')
      db.prepare("UPDATE meta SET v = 'unique later' WHERE k = 'needs'").run()
      db.pragma('user_version = 1007')
    })
    expect(await json(url)).toMatchObject({ schema: 1_007, layout: 7, needs: ['unique', 'later'] })
  })

  it('shows a store that a crash left, and leaves its log to the next master', async () => {
    await submit(await open(), task('a'))
    const crashed = join(folder, 'crashed.db')
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, crashed + suffix)
    const [before, log] = [readFileSync(crashed), readFileSync(`${crashed}-wal`)]
    expect(log.byteLength).toBeGreaterThan(0)
    expect(await json(`filedb://${crashed}`)).toMatchObject({ empty: false, layout: 1, needs: [] })
    expect(readFileSync(crashed).equals(before)).toBe(true)
    expect(readFileSync(`${crashed}-wal`).equals(log)).toBe(true)
    const reopened = await openedBackend(backendOn(crashed, new ManualClock()))
    expect(await reopened.tasks.describe(TYPE, ['a'])).toMatchObject([{ place: 'pending' }])
  })

  it('fails while a master uses the file, which it does not disturb', async () => {
    const backend = await open()
    await expect(info(url)).rejects.toMatchObject({
      code: 'STORAGE_LOCKED',
      message: expect.stringContaining(`another master uses this file: ${file}`),
    })
    expect(await backend.meta.info()).toMatchObject({ schema: 1 })
    expect(existsSync(`${file}-shm`)).toBe(false)
  })

  it('rejects a database of another program, and a path that cannot be read', async () => {
    const db = new Sqlite(file)
    db.exec('CREATE TABLE other (a)')
    db.close()
    await expect(info(url)).rejects.toMatchObject({ code: 'STORAGE_CORRUPT' })
    await expect(info(`filedb://${folder}`)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })
})

describe('muster store info', () => {
  it.each([
    [['info'], 'memory://', 'memory:// exists only inside its master; ask that master: GET /api/v1/me'],
    [['info', '-o', 'yaml'], 'filedb://x.db', '"yaml" is not known; known: table, json'],
    [['info', '--backend-ulr', 'x'], 'filedb://x.db', 'did you mean --backend-url?'],
    [['delete'], 'filedb://x.db', 'is not known; known: info'],
    [[], 'filedb://x.db', 'needs a verb; known: info'],
  ])('rejects %j with %s', async (argv, url, problem) => {
    const error: unknown = await run(argv, { SVC_BACKEND_URL: url }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SettingsError)
    expect((error as SettingsError).faults.map((fault) => fault.problem).join()).toContain(problem)
  })

  it('fails within 10 s when no server responds', async () => {
    const url = `kvstore://127.0.0.1:${await freePort()}`
    await expect(info(url)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  }, 20_000)
})

withRedisServer('muster store info of a Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.close())
  beforeEach(() => redis.connect().call('FLUSHALL'))

  const backendAt = (url: string): Promise<RedisBackend> =>
    openedBackend(new RedisBackend({ url: parseStoreUrl(url), time: systemTime, random: seededRandom(1) }))

  it('says that an empty store is empty, and writes nothing', async () => {
    expect(await info(redis.url)).toMatch(/^kvstore:\/\/\S+ is empty: no master has used it\n$/)
    expect(await json(redis.url)).toMatchObject({ empty: true, layout: null, masters: [] })
    expect(await redis.connect().call('DBSIZE')).toBe(0)
  })

  it('shows the masters with their features, one that declared nothing, and a newer layout', async () => {
    const { meta } = await backendAt(redis.url)
    await meta.beat('m-1')
    await meta.beat('m-2')
    await meta.declare('m-1', new MasterReleases('0.9.1', 1).text)
    const client = redis.connect()
    await client.call('HSET', 'muster:{m}:info', 'schema', '1007', 'needs', 'groups later')
    const before = await client.call('HGETALL', 'muster:{m}:info')
    expect(await json(redis.url)).toMatchObject({
      schema: 1_007,
      layout: 7,
      needs: ['groups', 'later'],
      masters: [
        {
          id: 'm-1',
          version: '0.9.1',
          layout: 1,
          features: [
            'stream',
            'result',
            'progress',
            'cancel',
            'epoch',
            'labels',
            'logs',
            'holder',
            'output_task',
            'slot_tasks',
          ],
          beat_age_seconds: expect.any(Number),
        },
        { id: 'm-2', version: null, layout: null, features: [] },
      ],
    })
    const text = await info(redis.url)
    expect(text).toContain('needs    groups, later\n')
    expect(text).toContain('masters  2\n\nMASTER  VERSION  LAYOUT  FEATURES')
    const features = 'stream, result, progress, cancel, epoch, labels, logs, holder, output_task, slot_tasks'
    expect(text).toMatch(new RegExp(`^m-1 {5}0\\.9\\.1 {4}1 {7}${features} {2}\\d+ s ago$`, 'm'))
    expect(await client.call('HGETALL', 'muster:{m}:info')).toEqual(before)
  })

  it('reads the store of the prefix and database that the URL names', async () => {
    const other = `${redis.url}/3?prefix=staging`
    await backendAt(other)
    expect(await json(other)).toMatchObject({ empty: false, layout: 1, masters: [] })
    expect(await json(redis.url)).toMatchObject({ empty: true })
  })

  it('says why the server refuses the password, without showing it', async () => {
    await redis.connect().call('CONFIG', 'SET', 'requirepass', 'right')
    try {
      const url = redis.url.replace('://', '://:hunter2@')
      const error: unknown = await info(url).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('password') })
      expect(String(error)).not.toContain('hunter2')
    } finally {
      await redis
        .connect()
        .call('CONFIG', 'SET', 'requirepass', '')
        .catch(() => undefined)
    }
  })
})
