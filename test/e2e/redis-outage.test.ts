/**
 * Tests the built command during every kind of outage of its Redis. With appendfsync always, an outage only costs time:
 * calls are rejected within 2 s, everything works again within 10 s, no acknowledged task is lost and no settled task
 * runs again (G1, G2, G18).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Forwarder } from '../storage/redis/forwarder.ts'
import { withRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { OutageFixture, throughOutage, type Outage, type OutageOptions } from './outage.ts'
import { eventually } from '../kit/index.ts'

const TIMEOUT_MS = 120_000

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})
const keep = <T extends { close(): Promise<unknown> }>(each: T): T => {
  open.push(each)
  return each
}

const admin = (redis: RedisServer, ...[name = '', ...args]: readonly string[]): Promise<unknown> =>
  redis.connect().call(name, args)

/** Outages that need no settings of their own. */
const ABSENCES: readonly (readonly [string, Outage])[] = [
  ['is stopped and started', { begin: ({ redis }) => redis.stop(), end: ({ redis }) => redis.start() }],
  ['is killed and started', { begin: ({ redis }) => redis.kill(), end: ({ redis }) => redis.start() }],
  ['is frozen', { begin: async ({ redis }) => redis.pause(), end: async ({ redis }) => redis.resume() }],
  [
    'does not respond (CLIENT PAUSE)',
    {
      begin: ({ redis }) => admin(redis, 'CLIENT', 'PAUSE', '5000', 'ALL'),
      end: () => Promise.resolve(),
      lastsMs: 5_000,
    },
  ],
  [
    'rejects writes (READONLY)',
    {
      begin: ({ redis }) => admin(redis, 'REPLICAOF', '127.0.0.1', '1'),
      end: ({ redis }) => admin(redis, 'REPLICAOF', 'NO', 'ONE'),
    },
  ],
]

async function fixtureBehind(): Promise<{ fixture: OutageFixture; network: Forwarder }> {
  let network: Forwarder | null = null
  const url = async (redis: RedisServer): Promise<string> => {
    network = keep(await Forwarder.to(redis.port))
    return `kvstore://127.0.0.1:${network.port}`
  }
  const fixture = keep(await OutageFixture.start({ url }))
  if (network === null) throw new Error('the fixture did not ask for its URL')
  return { fixture, network }
}

const started = async (options: OutageOptions = {}): Promise<OutageFixture> => keep(await OutageFixture.start(options))

/** Rejected requests with these words in their detail. A busy machine rejects requests for other reasons as well. */
const refusedFor = (fixture: OutageFixture, words: string): OutageFixture['refused'] =>
  fixture.refused.filter(({ detail }) => detail.includes(words))

withRedisServer('a fleet whose Redis is unavailable', () => {
  describe('a fleet whose Redis', () => {
    it.each(ABSENCES)(
      '%s rejects calls within 2 s, loses no task and is served again within 10 s (G1, G2, G18)',
      async (_, absence) => {
        await throughOutage(await started(), absence)
      },
      TIMEOUT_MS,
    )

    it.each([
      ['frozen', 'freeze'],
      ['cut', 'cut'],
    ] as const)(
      'is behind a network that is %s loses no task and is served again within 10 s (G1, G2, G18)',
      async (_, way) => {
        const { fixture, network } = await fixtureBehind()
        await throughOutage(fixture, { begin: async () => network[way](), end: async () => network.mend() })
      },
      TIMEOUT_MS,
    )

    it(
      "has a new password is served again once the master's password file has it; the log says what to do (D22, G18)",
      async () => {
        const file = join(tmpdir(), `muster-password-${process.pid}`)
        writeFileSync(file, 'first\n', { mode: 0o600 })
        const fixture = await started({
          redis: { appendfsync: 'always', password: 'first' },
          url: ({ port }) => `kvstore://127.0.0.1:${port}`,
          settings: { SVC_BACKEND_PASSWORD_FILE: file },
        })
        await throughOutage(fixture, {
          begin: async ({ redis }) => {
            const client = redis.connect()
            await client.config('SET', 'requirepass', 'second')
            for (const type of ['pubsub', 'normal']) await client.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
          },
          end: async () => {
            await eventually(
              'the log names the password',
              async () => fixture.master.output().includes('SVC_BACKEND_PASSWORD'),
              { context: fixture.master.output },
            )
            writeFileSync(file, 'second\n')
          },
        })
        expect(fixture.master.output()).not.toMatch(/first|second\b/)
      },
      TIMEOUT_MS,
    )

    it(
      'was flushed of its scripts is not affected (SCRIPT FLUSH)',
      async () => {
        const fixture = await started()
        const waiting = fixture.waitForTask()
        fixture.startLoad()
        for (let flushed = 0; flushed < 20; flushed += 1) {
          await fixture.moreAcknowledged(10)
          await admin(fixture.redis, 'SCRIPT', 'FLUSH')
        }
        await fixture.isServed(waiting)
        await fixture.allDone()
        expect(refusedFor(fixture, 'the store')).toEqual([])
      },
      TIMEOUT_MS,
    )
  })

  describe('a fleet whose Redis accepts no writes', () => {
    it(
      'at its memory limit rejects new tasks, still settles, pops and clears, and recovers when memory is free (G18)',
      async () => {
        const fixture = await started()
        const waiting = fixture.waitForTask()
        const running = await fixture.submitted('steady', 3_000)
        fixture.startLoad()
        await fixture.moreAcknowledged(100)
        await eventually('the long task runs', async () => fixture.begun().some(([id]) => id === running))
        await admin(fixture.redis, 'CONFIG', 'SET', 'maxmemory', '1')
        // A PATCH of the load may be rejected before the first submit.
        const refusedSubmits = (): OutageFixture['refused'] =>
          refusedFor(fixture, 'memory limit').filter(({ what }) => what === 'a submit')
        await eventually('submits are rejected for this reason', async () => refusedSubmits().length > 10)
        expect(refusedSubmits()[0]).toMatchObject({ status: 503, retryAfter: '5' })
        expect([await fixture.status('/readyz'), await fixture.status('/healthz')]).toEqual([200, 200])

        await eventually(
          'the running task is settled',
          async () => (await fixture.fleet.call('GET', `/automations/steady/tasks/${running}`)).status === 404,
        )
        await eventually(
          'the queue is empty',
          async () => (await fixture.fleet.ok<{ length: number }>('GET', '/automations/quick/queue')).length === 0,
        )
        expect((await fixture.fleet.call('POST', '/automations/quick/output/pop', { n: 10 })).status).toBe(200)
        expect((await fixture.fleet.call('DELETE', '/automations/quick/dead')).status).toBe(200)

        await admin(fixture.redis, 'CONFIG', 'SET', 'maxmemory', '0')
        await fixture.isServed(waiting)
        await fixture.allDone()
      },
      TIMEOUT_MS,
    )

    it(
      'because of a disk error (MISCONF) rejects every change, and recovers on its own (G18)',
      async () => {
        const fixture = await started({
          redis: { appendfsync: 'always', config: ['save 3600 1000000', 'dbfilename dump.rdb'] },
        })
        const taken = join(fixture.redis.folder, 'dump.rdb', 'taken')
        const saved = async (status: string): Promise<void> => {
          await admin(fixture.redis, 'BGSAVE')
          await eventually(`a snapshot is ${status}`, async () =>
            String(await admin(fixture.redis, 'INFO', 'persistence')).includes(`rdb_last_bgsave_status:${status}`),
          )
        }
        const waiting = fixture.waitForTask()
        fixture.startLoad()
        await fixture.moreAcknowledged(100)
        mkdirSync(taken, { recursive: true }) // A snapshot cannot replace a folder.
        await saved('err')
        await eventually('submits are rejected for this reason', async () =>
          refusedFor(fixture, 'its disk').some(({ what }) => what === 'a submit'),
        )
        expect(refusedFor(fixture, 'its disk')[0]).toMatchObject({ status: 503, retryAfter: '5' })
        expect(await fixture.status('/healthz')).toBe(200)

        rmdirSync(taken)
        rmdirSync(join(fixture.redis.folder, 'dump.rdb'))
        await pause(1_000)
        await saved('ok')
        await fixture.isServed(waiting)
        await fixture.allDone()
      },
      TIMEOUT_MS,
    )
  })
})
