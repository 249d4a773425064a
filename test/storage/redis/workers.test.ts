/**
 * Tests the registry in Redis: the commands of its scripts, what a failure leaves, batches, limits, and the memory
 * limit.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import type { Caller, CallOptions, Reply } from '../../../src/storage/redis/caller.ts'
import { createConfigs } from '../../../src/storage/redis/configs.ts'
import { key } from '../../../src/storage/redis/keys.ts'
import { createRevisions } from '../../../src/storage/redis/revisions.ts'
import { createStats } from '../../../src/storage/redis/stats.ts'
import { KeyedMutex } from '../../../src/storage/redis/keyed-mutex.ts'
import { RedisWorkers, type RegistryLimits } from '../../../src/storage/redis/workers.ts'
import type { WorkerReport, ConfigPut } from '../../../src/storage/index.ts'
import { conn, ids, ManualClock, ref, registration, SECOND, TYPE } from '../contract/fixture.ts'
import { contents, testAtomicity } from './atomicity.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

const READS = new Set(['HMGET', 'HGET', 'HLEN', 'HEXISTS', 'ZMSCORE', 'ZCARD', 'ZRANGE', 'LRANGE'])

let server: RedisServer
let client: Redis
let caller: TracedCaller
let clock: ManualClock

function groups(limits?: RegistryLimits, over: Caller = caller) {
  return {
    workers: new RedisWorkers(over, () => Promise.resolve(['m1']), limits),
    configs: createConfigs(over),
    stats: createStats(over),
  }
}
const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `w${i}`)
const report = (
  state: 'IDLE' | 'RUNNING' = 'RUNNING',
  lastError: string | null = null,
): NonNullable<WorkerReport['state']> => ({ state, gen: 1, lastError })
const put = (expectGen: number, more: Partial<ConfigPut> = {}): ConfigPut => ({
  ...ref('w0'),
  expectGen,
  config: '{"slots":2}',
  changed: ['slots'],
  actor: 'admin',
  ...more,
})

/** Registers workers, of which w2 is draining and w3 was forgotten. Returns one call of every method. */
async function calls(): Promise<readonly (() => Promise<unknown>)[]> {
  const { workers, configs, stats } = groups()
  await workers.register(names(4).map((id) => registration(id, `m1/${id}`, { instance: 'i1' })))
  await configs.put(put(0))
  await workers.beat([{ ...conn('w0', 'm1/w0'), state: report(), stats: ['{"ts":1}'] }])
  await workers.drain([{ ...ref('w2'), actor: 'ana' }])
  await workers.manage([{ ...ref('w1'), managedBy: 'x' }])
  await workers.forget([ref('w3')])
  return [
    () =>
      workers.register([
        registration('w3', 'm1/8'),
        registration('w4', 'm1/9'),
        registration('w2', 'm1/10', { instance: 'i2' }),
        registration('w0', 'm1/11'),
      ]),
    () => workers.beat([{ ...conn('w0', 'm1/w0'), state: report('IDLE'), stats: ['{"ts":2}'] }, conn('w1', 'm1/w1')]),
    () => workers.disconnect([conn('w0', 'm1/w0')]),
    () => workers.disconnect([{ ...conn('w2', 'm1/w2'), ended: true, end: { by: 'worker', code: 4100, reason: '' } }]),
    () => workers.drain([{ ...ref('w0'), actor: 'ana' }, ref('unknown')]),
    () =>
      workers.manage([
        { ...ref('w0'), managedBy: 'x' },
        { ...ref('w1'), managedBy: null },
      ]),
    () => workers.forget([ref('w0'), ref('w1')]),
    () => workers.get([ref('w0')]),
    () => workers.page(TYPE, null, 10),
    () => configs.put(put(1)),
    () => configs.get([ref('w0')]),
    () => configs.history(ref('w0'), 10),
    () => configs.raise([{ ...ref('w0'), above: 10 }]),
    () => stats.read(ref('w0'), 0, 10),
  ]
}

/** Records which calls may be repeated and passes every call on. */
class Noting implements Caller {
  readonly repeatable: [script: string, repeatable: boolean][] = []
  readonly runId = (): string => ''
  readonly channel = (name: string): string => name
  readonly publisher = ''

  run(
    script: Parameters<Caller['run']>[0],
    keys: readonly string[],
    args: readonly (string | number)[],
    options: CallOptions = {},
  ): Promise<Reply> {
    this.repeatable.push([script.name, options.repeatable ?? false])
    return caller.run(script, keys, args)
  }
}

withRedisServer('redis registry', () => {
  beforeAll(async () => {
    server = await startRedis()
    client = server.connect()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await client.config('SET', 'maxmemory', '0')
    await client.flushall()
    clock = new ManualClock()
    caller = new TracedCaller(client, clock)
  })

  describe('redis scripts of the registry', () => {
    testAtomicity({
      client: () => client,
      caller: () => caller,
      reset: async () => void (await client.flushall()),
      calls,
      reads: READS,
    })

    it('send as many commands for 500 workers as for one', async () => {
      const { workers, configs } = groups()
      const sent = async (n: number): Promise<Record<string, number>> => {
        const all = names(n).map((id) => `${n}-${id}`)
        caller.runs.splice(0)
        await workers.register(all.map((id) => registration(id, `m1/${id}`)))
        await workers.beat(all.map((id) => ({ ...conn(id, `m1/${id}`), state: report() })))
        await workers.drain(all.map(ref))
        await workers.manage(all.map((id) => ({ ...ref(id), managedBy: 'x' })))
        await configs.raise(all.map((id) => ({ ...ref(id), above: 3 })))
        await workers.get(all.map(ref))
        await workers.page(TYPE, null, n)
        await workers.disconnect(all.map((id) => conn(id, `m1/${id}`)))
        await workers.forget(all.map(ref))
        return Object.fromEntries(caller.runs.map(({ script, commands }) => [script, commands.length]))
      }
      const one = await sent(1)
      // On a server, a script that needs the time sends one more command: TIME. The test passes its own clock instead.
      expect(one).toEqual({
        'workers.register': 21,
        'workers.beat': 7,
        'workers.drain': 7,
        'workers.manage': 2,
        'configs.raise': 3,
        'workers.get': 13,
        'workers.page': 14,
        'workers.disconnect': 8,
        'workers.forget': 19,
      })
      expect(await sent(500)).toEqual({ ...one, 'workers.page': 27 }) // Reads a few rows first, then all others.
    })

    it('read a page of large rows in pieces of adaptive size, and return at most 32 MiB', async () => {
      const { workers } = groups()
      const all = names(80)
        .map((id) => id.padStart(4, '0'))
        .toSorted()
      await workers.register(all.map((id) => registration(id, `m1/${id}`)))
      for (const [i, id] of all.entries())
        await workers.beat([
          { ...conn(id, `m1/${id}`), stats: [`{"ts":1,"x":"${'x'.repeat(i < 30 ? 10 : 1_000_000)}"}`] },
        ])
      const pages: string[][] = []
      for (
        let page = ids(await workers.page(TYPE, null, 1_000));
        page.length > 0;
        page = ids(await workers.page(TYPE, page.at(-1) ?? null, 1_000))
      )
        pages.push(page)
      expect(pages.flat()).toEqual(all)
      expect(pages.map((page) => page.length)).toEqual([63, 17])
    }, 30_000)

    it('leave only the generation of a forgotten worker, until it returns', async () => {
      const { workers } = groups()
      const gone = `muster:{a:${TYPE}}:gone`
      await calls()
      await workers.forget(names(3).map(ref))
      expect(Object.keys(await contents(client))).toEqual([gone])
      await workers.register(names(4).map((id) => registration(id, 'm1/2')))
      expect(Object.keys(await contents(client))).not.toContain(gone)
    })
  })

  describe('redis registry, labels of a worker that a release without revisions forgot', () => {
    it.each([
      ['none', undefined, null],
      ['that of its enrolment', { revision: 'r1', variant: 'v2', managedBy: null }, 'r1/v2'],
    ])('become %s when it registers again, and count once', async (_, enrolment, label) => {
      const { workers } = groups()
      const revisions = createRevisions(caller)
      await revisions.put(TYPE, { name: 'r1', config: '{}', managedBy: null, actor: 'a' })
      const first = { revision: 'r1', variant: 'v1', managedBy: null }
      await workers.register([registration('w0', 'm1/1', { enrolment: first })])
      const stem = `muster:{a:${TYPE}}:`
      for (const field of ['desc', 'st', 'sn', 'conn', 'dr', 'mb', 'g', 'cfg', 'cs', 'lb'])
        await client.hdel(stem + field, 'w0')
      await client.zrem(`${stem}ix`, 'w0')
      await client.zadd(`${stem}gone`, 0, 'w0')
      await workers.register([registration('w0', 'm1/2', { enrolment })])
      expect(await workers.get([ref('w0')])).toMatchObject([{ configRevision: label, config: { gen: 1 } }])
      expect(await revisions.list(TYPE)).toMatchObject([{ workers: label === null ? 0 : 1 }])
    })
  })

  describe('redis registry, batches', () => {
    it('remove tallies that an earlier release left when it dropped their revisions (D138)', async () => {
      const revisions = createRevisions(caller)
      const revision = (name: string) => ({ name, config: '{}', managedBy: null, actor: 'a' })
      for (const name of ['r1', 'r2']) {
        await revisions.put(TYPE, revision(name))
        await revisions.addTallies(TYPE, [{ revision: name, counters: { runs_ok: 1 } }])
      }
      const keyOf = (part: string): string => key('a', TYPE, part)
      for (const name of ['r1', 'r2']) {
        for (const hash of ['ru', 'rd']) await client.hdel(keyOf(hash), name)
        await client.zrem(keyOf('ro'), name)
      }
      await revisions.put(TYPE, revision('r2'))
      expect(await client.hkeys(keyOf('rt'))).toEqual([])
      expect(await revisions.list(TYPE)).toMatchObject([{ name: 'r2', tally: {} }])
    })

    it('returns results in the order of the items when a call is split into several scripts', async () => {
      const { workers } = groups()
      const types = ['a', 'b']
      const items = names(1_200).map((id, i) => ({
        ...registration(id, `m1/${id}`),
        type: types[i % 2] ?? '',
        hardware: JSON.stringify('x'.repeat(i % 100 === 0 ? 300_000 : 10)),
      }))
      expect(await workers.register(items)).toEqual(
        items.map(() => ({ kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 })),
      )
      expect(caller.runs.length).toBeGreaterThan(4)
      const rows = await workers.get(items)
      expect(rows.map((row) => [row?.type, row?.id, row?.hardware.length])).toEqual(
        items.map(({ type, id, hardware }) => [type, id, hardware.length]),
      )
      const beats = await workers.beat(
        items.map(({ type, id }, i) => ({ type, id, conn: `m1/${i % 3 === 0 ? id : 'other'}` })),
      )
      expect(beats.map(({ status: was }) => was)).toEqual(items.map((_, i) => (i % 3 === 0 ? 'ok' : 'replaced')))
    })

    it('rejects when one of its scripts fails, but not before all of them have ended', async () => {
      const { workers } = groups()
      await client.hset('muster:{a:bad}:g', 'w', 0)
      await client.set('muster:{a:bad}:conn', 'not a hash')
      await expect(workers.beat([{ type: 'bad', id: 'w', conn: 'm1/1' }, conn('w', 'm1/1')])).rejects.toMatchObject({
        code: 'STORAGE_CORRUPT',
      })
      expect(caller.runs.map(({ script }) => script)).toContain('workers.beat')
    })

    it('marks idempotent calls, and only those, as repeatable', async () => {
      const noting = new Noting()
      const { workers, configs, stats } = groups(undefined, noting)
      await workers.register([registration('w0', 'm1/1')])
      await workers.beat([{ ...conn('w0', 'm1/1'), state: report() }])
      await workers.beat([{ ...conn('w0', 'm1/1'), stats: ['{"ts":1}'] }, conn('w0', 'm1/1')])
      await workers.disconnect([conn('w0', 'm1/1')])
      await workers.get([ref('w0')])
      await workers.page(TYPE, null, 1)
      await workers.drain([ref('w0')])
      await workers.manage([{ ...ref('w0'), managedBy: null }])
      await configs.put(put(0))
      await configs.raise([{ ...ref('w0'), above: 0 }])
      await configs.get([ref('w0')])
      await configs.history(ref('w0'), 1)
      await stats.read(ref('w0'), 0, 1)
      await workers.forget([ref('w0')])
      expect(noting.repeatable).toEqual([
        ['workers.register', true],
        ['workers.beat', true],
        ['workers.beat', false],
        ['workers.disconnect', true],
        ['workers.get', true],
        ['workers.page', true],
        ['workers.drain', false],
        ['workers.manage', false],
        ['configs.put', false],
        ['configs.raise', true],
        ['configs.get', true],
        ['configs.history', true],
        ['stats.read', true],
        ['workers.forget', false],
      ])
    })
  })

  describe('redis registry, texts and limits', () => {
    it('stores any text without changing the fields next to it', async () => {
      const { workers, configs } = groups()
      const odd = '%3a:%25:\n{"}:\u0000é'
      await workers.register([registration('w0', 'm1/1', { instance: odd, hardware: `:${odd}`, defaults: `::${odd}` })])
      expect((await workers.get([ref('w0')]))[0]).toMatchObject({
        hardware: `:${odd}`,
        config: { config: `::${odd}`, changedAtMs: null, actor: null },
      })
      await workers.drain([ref('w0')])
      expect(await workers.register([registration('w0', 'm1/2', { instance: odd })])).toMatchObject([{ drain: true }])
      await configs.put(put(0, { actor: odd, changed: [odd], config: `\n:${odd}` }))
      expect(await configs.history(ref('w0'), 1)).toEqual([
        { gen: 1, changedAtMs: clock.wallMs(), actor: odd, changed: [odd], config: `\n:${odd}` },
      ])
      for (const lastError of ['', odd, null]) {
        await workers.beat([{ ...conn('w0', 'm1/2'), state: report('IDLE', lastError) }])
        expect((await workers.get([ref('w0')]))[0]).toMatchObject({
          lastError,
          appliedGen: 1,
          config: { actor: odd, config: `\n:${odd}` },
        })
      }
    })

    it('rejects new records above its limit, and still accepts known workers', async () => {
      const { workers } = groups({ records: 2, forgotten: 10 })
      const results = await workers.register([
        registration('a', 'm1/1'),
        registration('b', 'm1/2'),
        registration('c', 'm1/3'),
        registration('a', 'm1/4'),
      ])
      expect(results).toEqual([
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 },
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 },
        { kind: 'full' },
        {
          kind: 'registered',
          previous: { state: 'IDLE', lastError: null, appliedGen: null },
          drain: false,
          replaced: 'm1/1',
          gen: 0,
        },
      ])
      await workers.forget([ref('b')])
      expect(await workers.register([registration('c', 'm1/3')])).toMatchObject([{ previous: null }])
      expect(ids(await workers.page(TYPE, null, 10))).toEqual(['a', 'c'])
    })

    it('drops the lowest generations first above its limit (D46)', async () => {
      const { workers, configs } = groups({ records: 10, forgotten: 2 })
      await workers.register(['a', 'b', 'c'].map((id) => registration(id, 'm1/1')))
      await configs.raise([
        { ...ref('a'), above: 4 },
        { ...ref('b'), above: 2 },
        { ...ref('c'), above: 8 },
      ])
      await workers.forget(['a', 'b', 'c'].map(ref))
      expect(await workers.register(['a', 'b', 'c'].map((id) => registration(id, 'm1/2')))).toMatchObject([
        { gen: 6 },
        { gen: 0 },
        { gen: 10 },
      ])
    })

    it('stores generations up to 2^53 exactly', async () => {
      const { workers, configs } = groups()
      await workers.register([registration('w0', 'm1/1')])
      const high = Number.MAX_SAFE_INTEGER - 2
      await client.hset(`muster:{a:${TYPE}}:g`, 'w0', String(high))
      expect(await configs.put(put(high))).toEqual({ kind: 'stored', gen: high + 1, conn: 'm1/1' })
      await workers.forget([ref('w0')])
      expect(await workers.register([registration('w0', 'm1/1')])).toMatchObject([{ gen: high + 2 }])
    })
  })

  describe('redis registry at the memory limit', () => {
    it('still stores states and drains, and rejects only registration and config changes', async () => {
      const { workers, configs, stats } = groups()
      await workers.register([registration('w0', 'm1/1'), registration('w1', 'm1/2')])
      await workers.beat([{ ...conn('w0', 'm1/1'), stats: ['{"ts":1}', '{"ts":2}'] }])
      await client.config('SET', 'maxmemory', '1')
      clock.advance(SECOND)
      await expect(workers.register([registration('w2', 'm1/3')])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      await expect(configs.put(put(0))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      expect(await workers.drain([ref('w1')])).toEqual([{ kind: 'draining', conn: 'm1/2' }])
      const results = await workers.beat([
        { ...conn('w0', 'm1/1'), state: report(), stats: ['{"ts":3}', '{"ts":4}'] },
        conn('w1', 'm1/2'),
      ])
      expect(results).toEqual([
        { status: 'ok', gen: 0 },
        { status: 'drain', gen: 0 },
      ])
      expect(await workers.get([ref('w0')])).toMatchObject([
        { state: 'RUNNING', lastSeenAtMs: clock.wallMs(), stats: '{"ts":4}' },
      ])
      expect(await stats.read(ref('w0'), 0, 240)).toEqual({ kind: 'frames', frames: ['{"ts":4}'] })
      expect(await workers.forget([ref('w1')])).toEqual([true])
    })
  })
})

describe('KeyedMutex', () => {
  it('runs the calls of one key in sequence, and those of other keys concurrently', async () => {
    const turns = new KeyedMutex()
    const log: string[] = []
    let lose: (error: Error) => void = () => undefined
    const first = new Promise<void>((_, reject) => {
      lose = reject
    })
    const failing = turns.run('a', async () => {
      log.push('a1')
      await first
    })
    const second = turns.run('a', () => Promise.resolve(log.push('a2')))
    await turns.run('b', () => Promise.resolve(log.push('b1')))
    expect(log).toEqual(['a1', 'b1'])
    lose(new Error('lost'))
    await expect(failing).rejects.toThrow('lost')
    await second
    expect(log).toEqual(['a1', 'b1', 'a2'])
  })
})
