/**
 * Regression: stores grew with everything that ever passed through them. Finished work must leave nothing, so the size
 * after many rounds equals the size after a few (G17). SOAK=1 runs 25 times as many rounds.
 */
import { statSync } from 'node:fs'
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import {
  HOUR,
  ManualClock,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  conn,
  item,
  nack,
  ref,
  refOf,
  registration,
  reserve,
  sole,
  start,
  task,
} from '../storage/contract/fixture.ts'
import { startRedis, withRedisServer } from '../kit/redis-server.ts'
import { backendOn, folders } from '../storage/sqlite/fixture.ts'

const isSoak = process.env['SOAK'] === '1'
const FEW = 10
const MANY = isSoak ? 1_000 : 40
const EACH = 100
/** Stores allocate in steps. If every round left something behind, the factor would be 4. */
const SLACK = 1.5

/** Generations of forgotten workers, and a bit and a fingerprint per acked token. Each of these has its own limit. */
const BOUNDED = /^muster:\{a:[^}]*\}:(?:g|gone)$|:[kh][0-3]$/

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

/** Uses every feature with new names, and completes or expires everything. */
async function round(backend: Backend, clock: ManualClock, n: number): Promise<void> {
  const names = Array.from({ length: EACH }, (_, i) => `${n}/${i}`)
  await backend.tasks.submit(
    TYPE,
    MINUTE,
    names.map((id, i) => task(id, { key: id, ownId: true, ttlMs: i % 10 === 0 ? SECOND : null, maxAttempts: 2 })),
  )
  clock.advance(SECOND)
  const leases = await reserve(backend, EACH)
  await backend.tasks.ack(TYPE, leases.slice(0, 60).map(refOf))
  await nack(backend, leases.slice(60, 70), { permanent: true })
  await nack(backend, leases.slice(70, 80), { retryInMs: SECOND })
  clock.advance(VISIBILITY)
  await backend.tasks.sweep(TYPE, 10, 500)
  await backend.tasks.ack(TYPE, (await reserve(backend)).map(refOf))
  await backend.tasks.clearDead(TYPE)

  const [worker, connection] = [`gone-${n}`, `m${n}/1`]
  await backend.workers.register([registration(worker, connection)])
  await backend.workers.beat([{ ...conn(worker, connection), stats: ['{"ts":1}'] }])
  await backend.workers.forget([ref(worker)])
  await backend.streams.push(
    TYPE,
    `m${n % 5}`,
    n,
    names.map((name) => JSON.stringify(name)),
  )
  await backend.streams.pop(TYPE, EACH)
  await backend.pools.put(
    'p',
    names.map((name) => item(name)),
  )
  await backend.pools.claim('p', [{ owner: worker, n: 10, holdMs: SECOND, match: {} }])
  await backend.pools.remove(
    'p',
    names.map((id) => ({ id, token: null })),
  )
  await backend.kv.set(
    'n',
    names.map((key) => ({ key, value: '1', ttlMs: SECOND })),
  )
  await backend.locks.acquire(
    'n',
    names.map((_, i) => ({ name: `l${i}`, owner: worker, holdMs: SECOND })),
  ) // Expired ones are kept, up to a limit.
  clock.advance(HOUR)
  await backend.tasks.sweep(TYPE, 10, 500)
}

async function sizes(
  backend: Backend,
  clock: ManualClock,
  sizeOf: () => Promise<number>,
  idle: () => Promise<void> = () => Promise.resolve(),
): Promise<readonly [few: number, many: number]> {
  const rounds = async (from: number, to: number): Promise<number> => {
    for (let n = from; n < to; n += 1) {
      await round(backend, clock, n)
      await idle()
    }
    return sizeOf()
  }
  return [await rounds(0, FEW), await rounds(FEW, MANY)]
}

describe('memory flat (sqlite)', () => {
  const folder = folders()
  it(
    'keeps the size of its file, however much data passed through it',
    async () => {
      const { file } = folder()
      const clock = new ManualClock()
      const time = new VirtualTime()
      const backend = backendOn(file, clock, { time })
      open.push(backend)
      await start(backend)
      const sizeOf = async (): Promise<number> => {
        await backend.close() // Moves everything from the log to the file.
        await start(backend)
        return statSync(file).size
      }
      // The idle work starts after two ticks without a change.
      const [few, many] = await sizes(backend, clock, sizeOf, () => time.advance(2_000))
      expect(many).toBeLessThanOrEqual(SLACK * few)
    },
    isSoak ? 600_000 : 30_000,
  )
})

withRedisServer('memory flat', () => {
  describe('memory flat (redis)', () => {
    it(
      'keeps the size of its keys, except for keys with their own limit',
      async () => {
        const redis = await startRedis()
        const clock = new ManualClock()
        const backend = new RedisBackend({
          url: parseStoreUrl(redis.url),
          time: systemTime,
          random: seededRandom(1),
          clock,
        })
        open.push(redis, backend)
        await start(backend)
        const client = redis.connect()
        const sizeOf = async (): Promise<number> => {
          const keys = (await client.keys('*')).filter((key) => !BOUNDED.test(key))
          const bytes = await Promise.all(keys.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)))
          return bytes.reduce<number>((sum, each) => sum + Number(each), 0)
        }
        const [few, many] = await sizes(backend, clock, sizeOf)
        expect(many).toBeLessThanOrEqual(SLACK * few)
        expect(await client.zcard(`muster:{a:${TYPE}}:gone`)).toBe(MANY)
        expect(sole(await backend.tasks.counts([TYPE])).inFlight).toBe(0)
      },
      isSoak ? 600_000 : 30_000,
    )
  })
})
