/**
 * Tests the durability profile that follows from the settings of a server, its warnings, and the epoch after a restart.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import {
  commandsInUse,
  commandsWithoutSample,
  profileOf,
  refusalOf,
  survivesRestart,
  warningsOf,
  type Facts,
} from '../../../src/storage/redis/checks.ts'
import { HealthTracker } from '../../../src/storage/redis/health.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { startRedis, withRedisServer, type RedisOptions, type RedisServer } from '../../kit/redis-server.ts'

const SOUND: Facts = {
  version: '7.0.15',
  runId: 'r',
  clusterEnabled: false,
  replicas: 0,
  aof: true,
  appendfsync: 'always',
  policy: 'noeviction',
  maxmemory: 1_000_000,
  minReplicas: 0,
}

describe('the durability profile', () => {
  it.each<[string, Partial<Facts>]>([
    ['durable', {}],
    ['last-seconds', { appendfsync: 'everysec' }],
    ['unsafe', { aof: false }],
    ['unsafe', { appendfsync: 'no' }],
    ['unsafe', { policy: 'allkeys-lru' }],
    ['unsafe', { policy: 'volatile-ttl' }],
    ['unknown', { appendfsync: 'unknown' }],
  ])('is %s with %j (G1)', (profile, facts) => {
    expect(profileOf([{ ...SOUND, ...facts }])).toBe(profile)
    expect(profileOf([SOUND, { ...SOUND, ...facts }, SOUND])).toBe(profile)
    expect(survivesRestart([SOUND, { ...SOUND, ...facts }])).toBe(profile === 'durable' || facts.policy !== undefined)
  })

  it('has no warning for a correct server, and one sentence for each fault', () => {
    expect(warningsOf([SOUND, SOUND])).toEqual([])
    const faults: Partial<Facts>[] = [
      { maxmemory: 0 },
      { aof: false },
      { appendfsync: 'everysec' },
      { appendfsync: 'no' },
      { appendfsync: 'unknown' },
      { policy: 'allkeys-lru' },
      { replicas: 1 },
    ]
    for (const fault of faults)
      expect(
        warningsOf([
          { ...SOUND, ...fault },
          { ...SOUND, ...fault },
        ]),
      ).toHaveLength(1)
    expect(warningsOf([{ ...SOUND, appendfsync: 'everysec' }])[0]).toContain(
      'the last second or two may be lost on power loss',
    )
    expect(
      warningsOf([
        { ...SOUND, replicas: 1, minReplicas: 1 },
        { ...SOUND, replicas: 1, minReplicas: null },
      ]),
    ).toEqual([])
  })

  it('rejects a server that is too old or does not report its version', () => {
    expect(refusalOf(SOUND, false)).toBeNull()
    expect(refusalOf({ ...SOUND, version: '8.2.1', clusterEnabled: true }, true)).toBeNull()
    for (const version of ['6.2.14', '', 'x'])
      expect(refusalOf({ ...SOUND, version }, false)).toMatch(/Redis 7\.0 or a compatible server/)
  })

  it('checks the permission for every command that a script uses', () => {
    expect(commandsInUse()).toEqual(expect.arrayContaining(['HMGET', 'HSET', 'PUBLISH', 'ZADD']))
    expect(commandsWithoutSample()).toEqual([])
  })
})

describe('the health of the store', () => {
  it('is logged when it changes, and an unsafe store is logged every hour', () => {
    const log = recordingLog()
    const { lines } = log
    const book = new HealthTracker({ time: new VirtualTime(), log, where: 'kvstore://h:1' })
    book.profiled('unsafe', ['the append-only file is off'], '7.0')
    book.note(null)
    book.note(null)
    expect(book.health).toMatchObject({
      ok: true,
      profile: 'unsafe',
      detail: 'kvstore://h:1, version 7.0; the append-only file is off',
    })
    for (let second = 0; second < 7_200; second += 1) book.tick()
    book.note('gone')
    book.note('gone')
    expect(book.health).toMatchObject({ ok: false, detail: 'gone' })
    expect(lines.map(({ level }) => level)).toEqual(['info', 'warn', 'info', 'warn', 'warn', 'error'])
  })

  it('logs each further reason of an outage once, because the first is rarely the cause', () => {
    const log = recordingLog()
    const { lines } = log
    const book = new HealthTracker({ time: new VirtualTime(), log, where: 'kvstore://h:1' })
    book.note('not yet connected')
    expect(lines).toEqual([])
    book.note(null)
    for (let tick = 0; tick < 3; tick += 1)
      for (const reason of ['the connection broke', 'the password is wrong']) book.note(reason)
    for (let n = 0; n < 100; n += 1) book.note(`reason ${n}`)
    expect(book.health.detail).toBe('reason 99')
    const reported = lines.filter(({ level }) => level === 'error').map(({ fields }) => fields?.['reason'])
    expect(reported).toEqual([
      'the connection broke',
      'the password is wrong',
      ...Array.from({ length: 8 }, (_, n) => `reason ${n}`),
    ])
    book.note(null)
    book.note('the connection broke')
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(11)
  })
})

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function opened(options: RedisOptions, user = ''): Promise<{ server: RedisServer; backend: RedisBackend }> {
  const server = await startRedis(options)
  const backend = new RedisBackend({
    url: parseStoreUrl(`kvstore://${user}127.0.0.1:${server.port}`),
    time: systemTime,
    random: seededRandom(1),
  })
  open.push(server, backend)
  if (user !== '')
    await server.connect().call('ACL', 'SETUSER', 'fleet', 'on', '>pw', '~muster:*', '&muster:*', '+@all', '-config')
  await backend.open(AbortSignal.timeout(20_000))
  return { server, backend }
}

async function epochAfterRestart({
  server,
  backend,
}: {
  server: RedisServer
  backend: RedisBackend
}): Promise<readonly [before: string, after: string]> {
  const { epoch } = await backend.meta.info()
  await backend.kv.set('ns', [{ key: 'a', value: '1', ttlMs: null }])
  await server.stop()
  await server.start()
  return [epoch, (await backend.meta.info()).epoch]
}

withRedisServer('redis health', () => {
  describe('a restart of the store', () => {
    it('keeps the epoch and all data with appendfsync always (D46)', async () => {
      const fixture = await opened({ appendfsync: 'always', maxmemory: '100mb' })
      expect(fixture.backend.health()).toMatchObject({
        ok: true,
        profile: 'durable',
        detail: expect.not.stringContaining(';'),
      })
      const [before, after] = await epochAfterRestart(fixture)
      expect(after).toBe(before)
      expect(await fixture.backend.kv.get('ns', ['a'])).toEqual(['1'])
    })

    it.each<[string, RedisOptions]>([
      ['last-seconds', { appendfsync: 'everysec' }],
      ['unsafe', {}],
    ])('starts a new epoch in a %s store (D46)', async (profile, options) => {
      const fixture = await opened(options)
      expect(fixture.backend.health().profile).toBe(profile)
      const [before, after] = await epochAfterRestart(fixture)
      expect(after).not.toBe(before)
      expect((await fixture.backend.meta.info()).epoch).toBe(after)
    })

    it('is detected by a master that was disconnected, once for all masters (D33, D46)', async () => {
      const { server, backend } = await opened({ appendfsync: 'everysec' })
      const { epoch } = await backend.meta.info()
      const second = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(2) })
      open.push(second)
      await second.open(AbortSignal.timeout(20_000))
      expect((await second.meta.info()).epoch).toBe(epoch)
      await second.close()
      await server.restart()
      const after = (await backend.meta.info()).epoch
      await second.open(AbortSignal.timeout(20_000))
      expect([(await second.meta.info()).epoch, after === epoch]).toEqual([after, false])
    })

    it('has an unknown profile if CONFIG is denied', async () => {
      const { backend } = await opened({ appendfsync: 'always' }, 'fleet:pw@')
      expect(backend.health()).toMatchObject({
        ok: true,
        profile: 'unknown',
        detail: expect.stringContaining('it is unknown what a power loss can lose'),
      })
    })
  })

  describe('the masters of a store', () => {
    it('see each other until one closes or sends no heartbeat for 15 s (D33)', async () => {
      const server = await startRedis()
      open.push(server)
      const clock = new VirtualTime()
      const [first, second] = [1, 2].map(
        (seed) =>
          new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(seed), clock }),
      )
      if (first === undefined || second === undefined) throw new Error('two were made')
      open.push(first, second)
      await Promise.all([first.open(AbortSignal.timeout(20_000)), second.open(AbortSignal.timeout(20_000))])
      await first.meta.beat('m1')
      expect((await second.meta.beat('m2')).toSorted()).toEqual(['m1', 'm2'])
      await clock.advance(14_999)
      expect((await second.meta.beat('m2')).toSorted()).toEqual(['m1', 'm2'])
      await clock.advance(1)
      expect(await second.meta.beat('m2')).toEqual(['m2'])
      await second.close()
      expect(await first.meta.beat('m1')).toEqual(['m1'])
    })
  })
})
