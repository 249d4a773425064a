/** Tests the messages of a start: each reason why a store cannot be used, and each warning about its setup. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend, type RedisBackendOptions } from '../../../src/storage/redis/index.ts'
import { createDeclareNeed } from '../../../src/storage/redis/declare-need.ts'
import { metaKey } from '../../../src/storage/redis/keys.ts'
import { MIGRATIONS, type Migration } from '../../../src/storage/redis/meta.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import {
  eventually,
  recordingLog,
  HAS_OPENSSL,
  makeCertificates,
  type Certificate,
  type Certificates,
} from '../../kit/index.ts'
import { fails } from '../contract/fixture.ts'
import {
  startRedis,
  startSentinel,
  withRedisServer,
  type RedisOptions,
  type RedisServer,
} from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'
import { scriptOfText } from './script-of-text.ts'

const INFO = 'muster:{m}:info'
/** Release 2: its migration step records that it ran. */
const NOTE = scriptOfText('test.migration', `#!lua\nredis.call('HSET', KEYS[1], 'migrated by', 'release 2')`)
const RELEASE_2: readonly Migration[] = [...MIGRATIONS, async (run) => void (await run(NOTE, [metaKey('info')], []))]

const SOUND: RedisOptions = { appendfsync: 'always', maxmemory: '100mb', maxmemoryPolicy: 'noeviction' }

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})
const keep = <T extends { close(): unknown }>(each: T): T => {
  open.push(each)
  return each
}
const serverWith = async (options: RedisOptions = {}): Promise<RedisServer> => keep(await startRedis(options))

interface Start {
  readonly refusal: string | null
  readonly code: unknown
  readonly lines: readonly string[]
  readonly detail: string
  readonly backend: RedisBackend
}

/** Opens a backend and returns its messages. */
async function start(url: string, more: Partial<RedisBackendOptions> = {}): Promise<Start> {
  const log = recordingLog()
  const { lines } = log
  const backend = keep(
    new RedisBackend({ url: parseStoreUrl(url), time: systemTime, random: seededRandom(1), log, ...more }),
  )
  const failure = await backend.open(AbortSignal.timeout(20_000)).then(
    () => null,
    (error: unknown) => error,
  )
  const { message = null, code } = (failure ?? {}) as { message?: string; code?: unknown }
  return {
    refusal: message,
    code,
    backend,
    detail: backend.health().detail,
    lines: lines.filter(({ level }) => level === 'warn').map(({ message: said }) => said),
  }
}

/**
 * Returns the message of a start that fails when its time limit is reached. The limit runs `speed` times as fast as
 * real time.
 */
async function startInVain(url: string, speed = 10): Promise<string | null> {
  const time = new VirtualTime()
  const starting = start(url, { time })
  const over = new AbortController()
  void starting.then(() => over.abort())
  for (const limit = AbortSignal.timeout(15_000); !over.signal.aborted; limit.throwIfAborted()) {
    await systemTime.sleep(50)
    await time.advance(50 * speed)
  }
  return (await starting).refusal
}

const versionOf = async (server: RedisServer): Promise<string | undefined> =>
  /redis_version:(?<version>\S+)/.exec(await server.connect().info('server'))?.groups?.['version']

/** A server of another vendor: it returns `info` for INFO and an error for every other command. */
async function fakeServer(info: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      for (const command of String(data)
        .toUpperCase()
        .matchAll(/\*\d+\r\n\$\d+\r\n(?<name>[A-Z]+)\r\n/g)) {
        socket.write(
          command.groups?.['name'] === 'INFO' ? `$${info.length}\r\n${info}\r\n` : '-ERR unknown command\r\n',
        )
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  keep({ close: () => void server.close() })
  return `kvstore://127.0.0.1:${(server.address() as AddressInfo).port}`
}

withRedisServer('redis start', () => {
  describe('redis start: settings that lose data', () => {
    it('has no warning for a correctly configured store', async () => {
      const server = await serverWith(SOUND)
      expect(await start(server.url)).toMatchObject({
        refusal: null,
        lines: [],
        detail: `kvstore://127.0.0.1:${server.port}, version ${await versionOf(server)}`,
      })
    })

    it.each<[string, Partial<RedisOptions>, string]>([
      [
        'maxmemory-policy',
        { maxmemoryPolicy: 'allkeys-lru' },
        'the store: maxmemory-policy is allkeys-lru: the store may evict data that was confirmed; set noeviction',
      ],
      [
        'no maxmemory',
        { maxmemory: '0' },
        'the store: no maxmemory is set: the system kills a full store instead of it rejecting calls; set maxmemory',
      ],
      [
        'appendfsync everysec',
        { appendfsync: 'everysec' },
        'the store: appendfsync is everysec: the last second or two may be lost on power loss; set appendfsync always',
      ],
      [
        'appendfsync no',
        { appendfsync: 'no' },
        'the store: appendfsync is no: everything since the last flush of the system may be lost on power loss; ' +
          'set appendfsync always',
      ],
    ])('warns about %s, in the log and in the health detail', async (_, setting, sentence) => {
      const { lines, detail, refusal } = await start((await serverWith({ ...SOUND, ...setting })).url)
      expect([refusal, lines]).toEqual([null, [sentence]])
      expect(detail).toContain(sentence.slice('the store: '.length))
    })

    it('warns about a disabled append-only file', async () => {
      const { appendfsync: _, ...rest } = SOUND
      expect((await start((await serverWith(rest)).url)).lines).toEqual([
        'the store: the append-only file is off: a restart ' +
          'of the store loses everything since its last snapshot; set appendonly yes',
      ])
    })

    it('warns about replicas that a primary does not wait for', async () => {
      const fleet = keep(await startSentinel(SOUND))
      const { lines } = await start(`kvstore+sentinel://127.0.0.1:${fleet.sentinel.port}/${fleet.name}`)
      expect(lines).toEqual([
        'the store: there are replicas and min-replicas-to-write is 0: a primary that ' +
          'was cut off keeps accepting changes, which a failover discards; set min-replicas-to-write 1',
      ])
    }, 60_000)

    it('warns about a password that is sent over a network without TLS', async () => {
      const { port } = await serverWith({ ...SOUND, password: 'pw' })
      expect((await start(`kvstore://:pw@127.0.0.1:${port}`)).lines).toEqual([])
      expect((await start(`kvstore://:pw@0.0.0.0:${port}`)).lines).toEqual([
        'the store: the password is sent unencrypted; use kvstores:// (TLS)',
      ]) // 0.0.0.0 reaches the local server, but is not a loopback address.
    })

    it('warns that durability is unknown if CONFIG is denied', async () => {
      const server = await serverWith(SOUND)
      await server.connect().call('ACL', 'SETUSER', 'fleet', 'on', '>pw', '~muster:*', '&muster:*', '+@all', '-config')
      expect((await start(`kvstore://fleet:pw@127.0.0.1:${server.port}`)).lines).toEqual([
        'the store: CONFIG is denied: it is unknown what a power loss can lose',
      ])
    })
  })

  describe('redis start: rejected servers', () => {
    it.each([
      ['6.2.14', '6.2.14'],
      ['', 'unknown'],
    ])('version %j', async (version, named) => {
      const url = await fakeServer(`redis_version:${version}\r\nrun_id:x\r\nloading:0\r\n`)
      expect((await start(url)).refusal).toBe(
        `the server is version ${named}; Redis 7.0 or a compatible server is needed`,
      )
    })

    it('rejects a cluster node behind the URL of a single server, and the reverse', async () => {
      const node = await serverWith({ config: ['cluster-enabled yes'] })
      expect((await start(node.url)).refusal).toBe(
        'the server is a node of a cluster; use kvstore+cluster://host:port,host:port',
      )
      const single = await serverWith()
      expect((await start(`kvstore+cluster://127.0.0.1:${single.port}`)).refusal).toBe(
        'the server is not a node of a cluster; use kvstore://host:port',
      )
    })

    it('rejects an unreachable server as soon as the time for a start is over', async () => {
      const server = await serverWith()
      await server.stop()
      expect(await startInVain(server.url)).toBe(
        `the store is unavailable: nothing listens at 127.0.0.1:${server.port}`,
      )
    }, 20_000)

    it('rejects a store that a newer release has written, without changing it (G27)', async () => {
      const server = await serverWith()
      const first = await start(server.url)
      await first.backend.close()
      const admin = server.connect()
      await admin.hset('muster:{m}:info', 'schema', '999')
      const before = await admin.hgetall('muster:{m}:info')
      expect(await start(server.url)).toMatchObject({
        code: 'STORAGE_SCHEMA',
        refusal: 'the store was written by a newer release (layout 999, this one knows 1); upgrade this program',
      })
      expect(await admin.hgetall('muster:{m}:info')).toEqual(before)
    })

    it('stops an older release after a newer one migrated the store of the same run id (G27)', async () => {
      const server = await serverWith()
      const first = await start(server.url)
      await first.backend.meta.beat('m1')
      const [runId] = await server.connect().hmget(INFO, 'run')
      const second = await start(server.url, { migrations: RELEASE_2 })
      expect([second.refusal, (await second.backend.meta.info()).schema]).toEqual([null, 2])
      const info = await server.connect().hgetall(INFO)
      expect([info['run'], info['migrated by']]).toEqual([runId, 'release 2'])
      const refusal = 'the store was written by a newer release (layout 2, this one knows 1); upgrade this program'
      expect(await start(server.url)).toMatchObject({ code: 'STORAGE_SCHEMA', refusal })
      expect(await server.connect().hgetall(INFO)).toEqual(info)
      // Masters read this with each heartbeat.
      await expect(first.backend.meta.info()).rejects.toMatchObject({ code: 'STORAGE_SCHEMA', message: refusal })
      expect(first.backend.health()).toMatchObject({ ok: false, detail: `the store is unavailable: ${refusal}` })
      await expect(first.backend.kv.set('ns', [{ key: 'a', value: '1', ttlMs: null }])).rejects.toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
      })
      expect(second.backend.health().ok).toBe(true)
    })

    it('opens a store with a need that it knows; releases before needs see a newer layout (D121)', async () => {
      const server = await serverWith()
      const { backend } = await start(server.url)
      await start(server.url, { migrations: RELEASE_2 })
      await createDeclareNeed(new TracedCaller(server.client, systemTime), systemTime)('unique')
      expect(await server.connect().hmget(INFO, 'schema', 'needs')).toEqual(['1002', 'unique'])
      const second = await start(server.url, { migrations: RELEASE_2 })
      expect([second.refusal, (await second.backend.meta.info()).schema]).toEqual([null, 2])
      await expect(backend.meta.info()).rejects.toMatchObject({
        message: 'the store was written by a newer release (layout 2, this one knows 1); upgrade this program',
      })
      await server.client.hset(INFO, 'needs', 'later')
      for (let times = 0; times < 2; times += 1)
        await createDeclareNeed(new TracedCaller(server.client, systemTime), systemTime)('unique')
      expect(await server.connect().hmget(INFO, 'schema', 'needs')).toEqual(['1002', 'later unique'])
    })

    it('keeps the needs of a store that it migrates, and of one that was restarted (D121)', async () => {
      const server = await serverWith()
      await (await start(server.url)).backend.close()
      await createDeclareNeed(new TracedCaller(server.client, systemTime), systemTime)('unique')
      await server.client.hset(INFO, 'run', 'another')
      expect(await start(server.url, { migrations: RELEASE_2 })).toMatchObject({ refusal: null })
      expect(await server.client.hmget(INFO, 'schema', 'migrated', 'needs')).toEqual(['1002', '2', 'unique'])
    })

    it('rejects a store with a need that it does not know, also while it uses the store (D121)', async () => {
      const server = await serverWith()
      const { backend } = await start(server.url)
      await server.client.hset(INFO, { schema: '1001', needs: 'unique later' })
      const refusal = 'the store has data that needs "later", which this release does not know; upgrade this program'
      expect(await start(server.url)).toMatchObject({ code: 'STORAGE_SCHEMA', refusal })
      await expect(backend.meta.info()).rejects.toMatchObject({ code: 'STORAGE_SCHEMA', message: refusal })
      expect(backend.health().ok).toBe(false)
    })

    it('rejects an older release during a migration, which the newer release completes (G27)', async () => {
      const server = await serverWith()
      await (await start(server.url)).backend.close()
      const broken = [...MIGRATIONS, () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'cut off'))]
      expect((await start(server.url, { migrations: broken })).refusal).toBe('cut off')
      expect(await start(server.url)).toMatchObject({ code: 'STORAGE_SCHEMA' })
      const { refusal, backend } = await start(server.url, { migrations: RELEASE_2 })
      expect([refusal, (await backend.meta.info()).schema, await server.connect().hget(INFO, 'migrated by')]).toEqual([
        null,
        2,
        'release 2',
      ])
    })

    it('accepts a store of the release before migrations existed', async () => {
      const server = await serverWith()
      const admin = server.connect()
      const runId = /run_id:(?<id>\S+)/.exec(await admin.info('server'))?.groups?.['id'] ?? ''
      await admin.hset(INFO, { epoch: 'e', run: runId, schema: '1' })
      const { refusal, backend } = await start(server.url)
      expect([refusal, await backend.meta.info()]).toEqual([null, expect.objectContaining({ epoch: 'e', schema: 1 })])
    })

    it('gives up when the signal is aborted', async () => {
      const server = await serverWith()
      await server.stop()
      const stop = new AbortController()
      const backend = keep(
        new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(1) }),
      )
      const result = backend.open(stop.signal)
      stop.abort(new Error('enough'))
      await expect(result).rejects.toThrow('enough')
      await expect(backend.kv.get('n', ['k'])).rejects.toEqual(fails('STORAGE_NOT_OPEN'))
    })
  })

  describe('redis start: passwords and permissions', () => {
    it('names a wrong or missing password and never shows one (D34)', async () => {
      const { port } = await serverWith({ password: 'right' })
      const where = `127.0.0.1:${port}`
      expect((await start(`kvstore://${where}`)).refusal).toBe(
        `${where}: the store asks for a password; set SVC_BACKEND_PASSWORD`,
      )
      for (const more of [{ password: () => 'hunter2' }, { url: parseStoreUrl(`kvstore://:hunter2@${where}`) }]) {
        expect((await start(`kvstore://${where}`, more)).refusal).toBe(
          `${where}: the store refuses the user or the password; ` +
            'check the user in SVC_BACKEND_URL and SVC_BACKEND_PASSWORD',
        )
      }
      for (const more of [{ password: () => 'right' }, { url: parseStoreUrl(`kvstore://:right@${where}`) }])
        expect((await start(`kvstore://${where}`, more)).refusal).toBeNull()
    })

    it.each<[string, readonly string[], string]>([
      [
        'a command of a script',
        ['+@all', '-zadd', '-hincrby', '~muster:*', '&muster:*'],
        "the store's user may not call HINCRBY, ZADD on keys and channels of muster:*; grant it these rights",
      ],
      [
        'commands that remove members of a sorted set',
        ['+@all', '-zpopmin', '-zrem', '-zremrangebyscore', '~muster:*', '&muster:*'],
        "the store's user may not call ZPOPMIN, ZREM, ZREMRANGEBYSCORE on keys and channels of muster:*; " +
          'grant it these rights',
      ],
      [
        'PUBLISH',
        ['+@all', '-publish', '~muster:*', '&muster:*'],
        "the store's user may not call PUBLISH on keys and channels of muster:*; grant it these rights",
      ],
      [
        'PUBSUB',
        ['+@all', '-pubsub', '~muster:*', '&muster:*'],
        "the store's user may not call PUBSUB on keys and channels of muster:*; grant it these rights",
      ],
      [
        'a part of PUBSUB',
        ['+@all', '-pubsub|numsub', '~muster:*', '&muster:*'],
        "the store's user may not call PUBSUB on keys and channels of muster:*; grant it these rights",
      ],
      [
        'another part of PUBSUB',
        ['+@all', '-pubsub|numpat', '~muster:*', '&muster:*'],
        "the store's user may not call PUBSUB on keys and channels of muster:*; grant it these rights",
      ],
      [
        'the channels',
        ['+@all', '~muster:*'],
        "the store's user may not call PUBLISH on keys and channels of muster:*; grant it these rights",
      ],
      [
        'the keys',
        ['+@all', '&muster:*', '~other:*'],
        "the store's user may not use the keys and channels of the store; " +
          'it needs the rights ~muster:* and &muster:* (the prefix in place of muster, where there is one)',
      ],
      [
        'SUBSCRIBE',
        ['+@all', '-subscribe', '~muster:*', '&muster:*'],
        "the store's user may not call SUBSCRIBE; grant it that right",
      ],
      [
        'scripts',
        ['+@all', '-script', '~muster:*', '&muster:*'],
        "WHERE: the store's user may not call SCRIPT LOAD; grant it that right",
      ],
      [
        'INFO',
        ['+@all', '-info', '~muster:*', '&muster:*'],
        "WHERE: the store's user may not call INFO; grant it that right",
      ],
    ])('names a user without the permission for %s', async (_, rights, sentence) => {
      const server = await serverWith()
      const admin = server.connect()
      await admin.call('ACL', 'SETUSER', 'fleet', 'on', '>pw', 'resetchannels', ...rights)
      const url = `kvstore://fleet:pw@127.0.0.1:${server.port}`
      expect((await start(url)).refusal).toBe(sentence.replace('WHERE', `127.0.0.1:${server.port}`))
      expect(await admin.keys('muster:*probe*')).toEqual([])
      await admin.call(
        'ACL',
        'SETUSER',
        'fleet',
        'resetkeys',
        'resetchannels',
        '~muster:*',
        '&muster:*',
        '+@all',
        '-@dangerous',
        '+info',
        '+config|get',
      )
      expect((await start(url)).refusal).toBeNull()
    })

    it('accepts a user without the permission for SPUBLISH, which only a cluster needs', async () => {
      const server = await serverWith()
      const user = ['ACL', 'SETUSER', 'fleet', 'on', '>pw', '~muster:*', '&muster:*', '+@all', '-spublish'] as const
      await server.connect().call(...user)
      expect((await start(`kvstore://fleet:pw@127.0.0.1:${server.port}`)).refusal).toBeNull()
      expect(await server.connect().keys('muster:*probe*')).toEqual([])
    })

    it('authenticates to sentinels with their own password, and reports a wrong one (D22)', async () => {
      const fleet = keep(await startSentinel({ password: 'data' }))
      const sentinel = fleet.sentinel.connect()
      await sentinel.call('ACL', 'SETUSER', 'default', 'resetpass', '>first')
      const where = `127.0.0.1:${fleet.sentinel.port}`
      const url = `kvstore+sentinel://${where}/${fleet.name}`
      const password = (): string => 'data'
      expect((await start(url, { password })).refusal).toBe(
        `${where}: the sentinels ask for a password; set SVC_BACKEND_SENTINEL_PASSWORD`,
      )
      expect((await start(url, { password, sentinelPassword: () => 'hunter2' })).refusal).toBe(
        `${where}: the sentinels refuse the password; check SVC_BACKEND_SENTINEL_PASSWORD`,
      )
      expect((await start(url, { sentinelPassword: () => 'first' })).refusal).toBe(
        `${where}: the store asks for a password; set SVC_BACKEND_PASSWORD`,
      )
      let current = 'first'
      const { refusal, backend } = await start(url, { password, sentinelPassword: () => current })
      expect(refusal).toBeNull()
      await sentinel.call('ACL', 'SETUSER', 'default', 'resetpass', '>second')
      await fleet.nodes[0]
        ?.connect()
        .call('CLIENT', 'KILL', 'TYPE', 'normal')
        .catch(() => undefined)
      await fleet.nodes[0]?.connect().call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await eventually(() => !backend.health().ok)
      current = 'second'
      await eventually(() => backend.health().ok)
      await expect(backend.bus.subscribe('news', () => undefined)).resolves.toBeInstanceOf(Function)
    }, 60_000)

    it('names a primary unknown to the sentinels, and unavailable sentinels', async () => {
      const fleet = keep(await startSentinel())
      const where = `127.0.0.1:${fleet.sentinel.port}`
      expect((await start(`kvstore+sentinel://${where}/unknown-primary`)).refusal).toBe(
        `${where}: the sentinels know no primary of that name; check the hosts in SVC_BACKEND_URL`,
      )
      await fleet.sentinel.stop()
      expect(await startInVain(`kvstore+sentinel://${where}/${fleet.name}`)).toBe(
        'the store is unavailable: no sentinel responds at any of the hosts in SVC_BACKEND_URL',
      )
    }, 60_000)
  })

  const withOpenssl = HAS_OPENSSL ? describe : describe.skip
  withOpenssl('redis start: TLS', () => {
    let made: Certificates
    beforeAll(() => void (made = makeCertificates()))
    afterAll(() => made.close())
    const tlsServer = ({ certFile, keyFile }: Certificate, asks = true): Promise<RedisServer> =>
      serverWith({ tls: { certFile, keyFile, caFile: made.ca.certFile, ...(asks && { client: made.client }) } })
    const withClient = (ca: Certificate, own: Certificate): Partial<RedisBackendOptions> => ({
      tls: { ca: ca.cert, cert: own.cert, key: own.key },
    })

    it('connects with the authority and, if required, a client certificate', async () => {
      const asksNothing = await tlsServer(made.server, false)
      expect((await start(asksNothing.url, { tls: { ca: made.ca.cert } })).refusal).toBeNull()
      const { refusal, backend } = await start((await tlsServer(made.server)).url, withClient(made.ca, made.client))
      expect(refusal).toBeNull()
      expect(await backend.counters.add('n', [{ name: 'c', delta: 2 }])).toEqual([2])
      await expect(backend.bus.subscribe('news', () => undefined)).resolves.toBeInstanceOf(Function)
    })

    it.each<[string, () => Promise<RedisServer>, () => Partial<RedisBackendOptions>, string]>([
      [
        'no client certificate',
        () => tlsServer(made.server),
        () => ({ tls: { ca: made.ca.cert } }),
        'the store asks for a client certificate; set SVC_BACKEND_CERT_FILE and SVC_BACKEND_KEY_FILE',
      ],
      [
        'a client certificate that the server does not trust',
        () => tlsServer(made.server),
        () => withClient(made.ca, made.stranger),
        'the store does not accept the client certificate (unknown ca); check SVC_BACKEND_CERT_FILE',
      ],
      [
        'another authority',
        () => tlsServer(made.server),
        () => withClient(made.otherCa, made.client),
        'the certificate of the store is not signed by a trusted authority; ' +
          'set SVC_BACKEND_CA_FILE to the one that signed it',
      ],
      [
        'only the authorities of the system',
        () => tlsServer(made.server),
        () => ({}),
        'the certificate of the store is not signed by a trusted authority; ' +
          'set SVC_BACKEND_CA_FILE to the one that signed it',
      ],
      [
        'a certificate that has expired',
        () => tlsServer(made.expired),
        () => withClient(made.ca, made.client),
        'the certificate of the store has expired; renew it',
      ],
      [
        'a certificate for another host',
        () => tlsServer(made.elsewhere),
        () => withClient(made.ca, made.client),
        "the certificate of the store is for another host: IP: 127.0.0.1 is not in the cert's list",
      ],
    ])('rejects %s and names the setting to change', async (_, server, more, sentence) => {
      const { port, url } = await server()
      expect((await start(url, more())).refusal).toBe(`127.0.0.1:${port}: ${sentence}`)
    })

    it('suggests TLS when only one side uses it', async () => {
      const secure = await tlsServer(made.server)
      expect(await startInVain(`kvstore://127.0.0.1:${secure.port}`)).toBe(
        'the store is unavailable: the server closed the connection; if it accepts only TLS, use kvstores://',
      )
      const { port } = await serverWith()
      expect(await startInVain(`kvstores://127.0.0.1:${port}`, 3)).toBe(
        'the store is unavailable: the connection timed out; ' +
          'check that the server is reachable and speaks TLS if the URL is kvstores://',
      )
    }, 60_000)
  })
})
