/**
 * Shared by the tests of the Redis backend: one store per file, and backends in it that are isolated by their own
 * prefix. The store uses the clock of the test; its connections use the real time.
 */
import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { seededRandom, systemTime, type Clock } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend, type RedisBackendOptions } from '../../../src/storage/redis/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { REDIS_SERVER, startRedis, type RedisOptions, type RedisServer } from '../../kit/redis-server.ts'

/**
 * URL of a standalone server to use instead of a private one, configured like {@link DURABLE}. Only keys with the
 * test's own prefixes are changed.
 */
const FOREIGN_URL = process.env['SVC_TEST_REDIS_URL']
const PREFIX = `muster-test-${process.pid}-`
/** Settings with which a Redis keeps everything it confirmed (D46). */
export const DURABLE: RedisOptions = { appendfsync: 'always', maxmemoryPolicy: 'noeviction' }
let serial = 0
let newestUrl = ''

/** Returns a connection of its own to the store of the backend that was created last, and the prefix of its keys. */
export const newestStore = (): [Redis, string] => [clientOf(newestUrl), `${PREFIX}${serial}`]

/** Returns a backend on the store at `url` with a prefix that no other backend uses. */
export function backendAt(url: string, clock: Clock, more: Partial<RedisBackendOptions> = {}): RedisBackend {
  serial += 1
  newestUrl = url
  return new RedisBackend({
    url: parseStoreUrl(`${url}?prefix=${PREFIX}${serial}`),
    clock,
    time: systemTime,
    random: seededRandom(serial),
    ...more,
  })
}

/** Runs `define` with a store for its tests. Without redis-server it defines a named skip. */
export function withRedisStore(name: string, define: (create: (clock: Clock) => Promise<Backend>) => void): void {
  if (FOREIGN_URL === undefined && REDIS_SERVER === undefined) {
    describe(name, () => it.skip('redis-server is not installed', () => undefined))
    return
  }
  let server: RedisServer | null = null
  beforeAll(async () => {
    if (FOREIGN_URL === undefined) server = await startRedis(DURABLE)
  })
  afterAll(async () => {
    if (FOREIGN_URL !== undefined) await tidy(FOREIGN_URL)
    await server?.close()
  })
  define((clock) => Promise.resolve(backendAt(FOREIGN_URL ?? server?.url ?? '', clock)))
}

/** Removes the test data of this process from a shared server. */
async function tidy(url: string): Promise<void> {
  const client = clientOf(url)
  for await (const keys of client.scanStream({ match: `${PREFIX}*`, count: 1_000 }) as AsyncIterable<string[]>)
    if (keys.length > 0) await client.unlink(...keys)
  client.disconnect()
}

function clientOf(url: string): Redis {
  const {
    hosts: [address],
    user,
    password,
    database,
    tls,
  } = parseStoreUrl(url)
  return new Redis({
    ...address,
    db: database,
    ...(user !== null && { username: user }),
    ...(password !== null && { password }),
    ...(tls && { tls: {} }),
  })
}
