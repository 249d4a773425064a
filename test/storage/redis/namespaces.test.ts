/**
 * Tests the Redis part of the namespace limit: two masters, a crash between two steps, and data of an earlier release
 * (D100).
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { MAX_NAMESPACES, RECLAIM_EVERY_MS, type Backend, type Kv } from '../../../src/storage/index.ts'
import type { Caller } from '../../../src/storage/redis/caller.ts'
import { createCounters } from '../../../src/storage/redis/counters.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { createKv } from '../../../src/storage/redis/kv.ts'
import { createLocks } from '../../../src/storage/redis/locks.ts'
import { fails, HOUR, ManualClock, MINUTE, SECOND, sole } from '../contract/fixture.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

const REGISTRY = 'muster:{ns}:k'

let server: RedisServer
let client: Redis
let clock: ManualClock
let caller: TracedCaller
const open: Backend[] = []

const set = (kv: Kv, namespace: string) => kv.set(namespace, [{ key: 'a', value: '1', ttlMs: null }])
const scriptsOf = (): readonly string[] => caller.runs.splice(0).map(({ script }) => script)

/** Registers `count` namespaces at the current time without writing to them. */
async function register(count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, i) => [String(clock.wallMs()), `n${i}`]).flat()
  await client.zadd(REGISTRY, ...entries)
}

/** A caller that runs `meanwhile` after the first reply to this script on this key, before the reply is returned. */
function interrupted(name: string, on: string, meanwhile: () => Promise<unknown>): Caller {
  let isDone = false
  return {
    runId: caller.runId,
    channel: caller.channel,
    publisher: caller.publisher,
    run: async (script, keys, args, options) => {
      const reply = await caller.run(script, keys, args, options)
      if (script.name === name && keys[0] === on && !isDone) {
        isDone = true
        await meanwhile()
      }
      return reply
    },
  }
}

async function master(): Promise<RedisBackend> {
  const backend = new RedisBackend({
    url: parseStoreUrl(server.url),
    clock,
    time: systemTime,
    random: seededRandom(open.length),
  })
  open.push(backend)
  await backend.open(AbortSignal.timeout(20_000))
  return backend
}

/** A registration in the background has no reply, so this polls the store. */
async function isRegistered(namespace: string): Promise<boolean> {
  for (let look = 0; look < 1_000; look += 1) if ((await client.zscore(REGISTRY, namespace)) !== null) return true
  return false
}

withRedisServer('redis namespaces', () => {
  beforeAll(async () => {
    server = await startRedis()
    client = server.connect()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await client.flushall()
    clock = new ManualClock()
    caller = new TracedCaller(client, clock)
  })
  afterEach(async () => {
    for (const backend of open.splice(0)) await backend.close()
  })

  it('are registered by their first write; later writes need one call', async () => {
    const [kv, locks, counters] = [createKv(caller, clock), createLocks(caller, clock), createCounters(caller, clock)]
    const lock = { name: 'a', owner: 'w1', holdMs: MINUTE }
    const writes = {
      'kv.set': () => set(kv, 'n'),
      'locks.acquire': () => locks.acquire('n', [lock]),
      'counters.add': () => counters.add('n', [{ name: 'a', delta: 1 }]),
    }
    for (const [script, write] of Object.entries(writes)) {
      for (let i = 0; i < 3; i += 1) await write()
      expect(scriptsOf()).toEqual([script, 'namespaces.register', script, script, script])
    }
    await kv.set('type', [{ key: 'a', value: '1', ttlMs: null }], true)
    await kv.delete('n', ['a'])
    await set(kv, 'n')
    expect(scriptsOf()).toEqual(['kv.set', 'kv.delete', 'kv.set'])
  })

  it('never exceed the limit when two masters create them simultaneously (D100)', async () => {
    const [a, b] = [await master(), await master()]
    await register(MAX_NAMESPACES - 3)
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => set((i % 2 === 0 ? a : b).kv, `new ${i}`)),
    )
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    expect(refused).toEqual(Array(17).fill(fails('STORAGE_FULL')))
    expect(await client.zcard(REGISTRY)).toBe(MAX_NAMESPACES)
    expect(await client.keys('muster:{k:new *}:v')).toHaveLength(3)
  })

  it('are removed after a crash between registration and write', async () => {
    await register(MAX_NAMESPACES)
    const kv = createKv(caller, clock)
    await expect(set(kv, 'new')).rejects.toEqual(fails('STORAGE_FULL'))
    clock.advance(MINUTE)
    await set(kv, 'new')
    expect(await client.zrange(REGISTRY, '0', '-1')).toEqual(['new'])
  })

  it('are searched for empty ones at most once in RECLAIM_EVERY_MS', async () => {
    await register(MAX_NAMESPACES)
    const kv = createKv(caller, clock)
    const searches: boolean[] = []
    for (const waitMs of [0, RECLAIM_EVERY_MS - 1, 1]) {
      clock.advance(waitMs)
      await set(kv, 'new').catch(() => undefined)
      const registration = caller.runs.splice(0).find(({ script }) => script === 'namespaces.register')
      searches.push(registration?.commands.includes('ZRANGE') === true)
    }
    expect(searches).toEqual([true, false, true])
  })

  it('stay registered when another master registers them during the check (D100)', async () => {
    const other = createKv(caller, clock)
    await register(MAX_NAMESPACES)
    clock.advance(MINUTE)
    const kv = createKv(
      interrupted('kv.is-empty', 'muster:{k:n7}:v', () => set(other, 'n7')),
      clock,
    )
    await set(kv, 'new')
    expect(await client.zrange(REGISTRY, '0', '-1')).toEqual(['n7', 'new'])
  })

  it('stay registered while a master that emptied them may write without a check', async () => {
    const [kv, other] = [createKv(caller, clock), createKv(caller, clock)]
    await register(MAX_NAMESPACES - 1)
    await set(kv, 'n')
    await kv.delete('n', ['a'])
    clock.advance(30 * SECOND - 1)
    await expect(set(other, 'new')).rejects.toEqual(fails('STORAGE_FULL'))
    scriptsOf()
    await set(kv, 'n')
    expect(scriptsOf()).toEqual(['kv.set'])
  })

  it('of locks keep their token sequence while a clock that steps back could issue a token twice', async () => {
    const locks = createLocks(caller, clock)
    const acquire = async (namespace: string, isOfType = false): Promise<number> => {
      const lock = sole(await locks.acquire(namespace, [{ name: 'a', owner: 'w1', holdMs: SECOND }], isOfType))
      return lock.kind === 'acquired' ? lock.token : 0
    }
    await register(MAX_NAMESPACES)
    await client.rename(REGISTRY, 'muster:{ns}:l')
    clock.advance(29 * SECOND)
    const before = await acquire('n7', true)
    clock.advance(32 * SECOND)
    await acquire('new')
    expect(await client.zrange('muster:{ns}:l', '0', '-1')).toEqual(['n7', 'new'])
    clock.stepWall(-35 * SECOND)
    expect(await acquire('n7')).toBeGreaterThan(before)
  })

  it('of an earlier release stay writable above the limit and are registered (D100)', async () => {
    const locks = createLocks(caller, clock)
    await client.hset('muster:{k:old}:v', 'b', '2')
    await client.hset('muster:{c:old}:h', 'b', '2')
    await client.hset('muster:{l:old}:m', 'f', '1048577', 'run', 'run-1')
    await register(MAX_NAMESPACES)
    for (const kind of ['l', 'c']) await client.copy(REGISTRY, `muster:{ns}:${kind}`)
    const kv = createKv(caller, clock)
    await set(kv, 'old')
    expect(await kv.get('old', ['a', 'b'])).toEqual(['1', '2'])
    expect(await isRegistered('old')).toBe(true)
    await expect(set(kv, 'new')).rejects.toEqual(fails('STORAGE_FULL'))
    expect(await createCounters(caller, clock).add('old', [{ name: 'a', delta: 1 }])).toEqual([1])
    expect(await locks.acquire('old', [{ name: 'a', owner: 'w1', holdMs: MINUTE }])).toEqual([
      { kind: 'acquired', token: 1_048_578, expiresAtMs: clock.wallMs() + MINUTE },
    ])
  })

  it('that a late write filled without a registration are registered by the next write', async () => {
    const kv = createKv(
      interrupted('namespaces.register', REGISTRY, () => client.del(REGISTRY)),
      clock,
    )
    await set(kv, 'n')
    expect(await client.exists(REGISTRY)).toBe(0)
    clock.advance(HOUR)
    await set(kv, 'n')
    expect(await isRegistered('n')).toBe(true)
  })
})
