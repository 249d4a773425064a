/**
 * Tests the scripts of pools, values, locks and counters: how many commands they send, in which order, and what remains
 * when one of these fails.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createCounters } from '../../../src/storage/redis/counters.ts'
import { createKv } from '../../../src/storage/redis/kv.ts'
import { createLocks } from '../../../src/storage/redis/locks.ts'
import { createPools } from '../../../src/storage/redis/pools.ts'
import { HOUR, item, ManualClock, MINUTE, refOf, SECOND, sole } from '../contract/fixture.ts'
import { contents, testAtomicity } from './atomicity.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

const SEGMENT = 2 ** 20
const READS = new Set(['INFO', 'ZRANGE', 'ZMSCORE', 'ZCARD', 'ZCOUNT', 'HMGET', 'HGET', 'HLEN', 'HEXISTS'])

let server: RedisServer
let client: Redis
let clock: ManualClock
let caller: TracedCaller

const groups = () => ({
  pools: createPools(caller),
  kv: createKv(caller, clock),
  locks: createLocks(caller, clock),
  counters: createCounters(caller, clock),
})
const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `n${i}`)
const items = (n: number) => names(n).map((id) => item(id))
const request = (n: number, match = {}) => ({ owner: 'w1', n, holdMs: MINUTE, match })
const commandsOfLast = (): readonly string[] => caller.runs.at(-1)?.commands ?? []

/** One call of every method, on a store in which each call finds something. */
async function calls(): Promise<readonly (() => Promise<unknown>)[]> {
  const { pools, kv, locks, counters } = groups()
  await pools.put('p', items(6))
  const [a, b, c] = sole(await pools.claim('p', [request(3)])).map(refOf)
  const [lock, other] = (
    await locks.acquire(
      'n',
      ['a', 'b'].map((name) => ({ name, owner: 'w1', holdMs: MINUTE })),
    )
  ).map((answer) => ('token' in answer ? answer.token : 0))
  await kv.set('n', [
    { key: 'a', value: '1', ttlMs: HOUR },
    { key: 'b', value: '1', ttlMs: null },
  ])
  await counters.add('n', [{ name: 'a', delta: 1 }])
  if (a === undefined || b === undefined || c === undefined || lock === undefined || other === undefined)
    throw new Error('three claims and two locks were expected')
  return [
    () => pools.put('p', [item('new', { expiresAtMs: clock.wallMs() + HOUR, tags: '{"a":1}' }), item('n1')]),
    () => pools.claim('p', [request(1), request(1)]),
    () => pools.claim('p', [request(1, { a: 1 }), request(1)]),
    () => pools.extend('p', [{ ...a, holdMs: HOUR }]),
    () => pools.release('p', [b]),
    () => pools.remove('p', [c, { id: 'n5', token: null }]),
    () => pools.list('p', 10),
    () => pools.claims('p', 10, null),
    () => kv.get('n', ['a', 'b']),
    () =>
      kv.set('n', [
        { key: 'a', value: '2', ttlMs: null },
        { key: 'c', value: '2', ttlMs: HOUR },
      ]),
    () => kv.delete('n', ['b']),
    () => locks.acquire('n', [{ name: 'c', owner: 'w1', holdMs: MINUTE }]),
    () => locks.extend('n', [{ name: 'a', token: lock, holdMs: HOUR }]),
    () => locks.release('n', [{ name: 'b', token: other }]),
    () =>
      counters.add('n', [
        { name: 'a', delta: 1 },
        { name: 'b', delta: 1 },
      ]),
    () => counters.get('n', ['a']),
  ]
}

withRedisServer('redis scripts', () => {
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

  describe('redis scripts of pools and primitives', () => {
    testAtomicity({
      client: () => client,
      caller: () => caller,
      reset: async () => void (await client.flushall()),
      calls,
      reads: READS,
    })

    it('send as many commands for a thousand items as for two', async () => {
      const { pools, kv, locks, counters } = groups()
      const sent = async (n: number): Promise<readonly (readonly [string | undefined, number])[]> => {
        const all: (readonly [string | undefined, number])[] = []
        const note = async <T>(answer: Promise<T>): Promise<T> => {
          const result = await answer
          all.push([caller.runs.at(-1)?.script, commandsOfLast().length])
          return result
        }
        await note(pools.put(`p${n}`, items(n)))
        const claims = sole(await note(pools.claim(`p${n}`, [request(n)]))).map(refOf)
        await note(
          pools.extend(
            `p${n}`,
            claims.map((each) => ({ ...each, holdMs: HOUR })),
          ),
        )
        await note(pools.release(`p${n}`, claims))
        await note(
          pools.remove(
            `p${n}`,
            names(n).map((id) => ({ id, token: null })),
          ),
        )
        const got = await note(
          locks.acquire(
            `p${n}`,
            names(n / 2).map((name) => ({ name, owner: 'w1', holdMs: MINUTE })),
          ),
        )
        await note(
          locks.release(
            `p${n}`,
            got.map((answer, i) => ({ name: `n${i}`, token: 'token' in answer ? answer.token : 0 })),
          ),
        )
        await note(
          kv.set(
            `p${n}`,
            names(n / 2).map((key) => ({ key, value: '1', ttlMs: HOUR })),
          ),
        )
        await note(kv.get(`p${n}`, names(n)))
        await note(
          counters.add(
            `p${n}`,
            names(n / 2).map((name) => ({ name, delta: 1 })),
          ),
        )
        return all
      }
      const few = await sent(2)
      // On a server, a script that needs the time sends one more command: TIME. The test passes its own clock instead.
      expect(Object.fromEntries(few)).toEqual({
        'pools.put': 10,
        'pools.claim': 10,
        'pools.extend': 5,
        'pools.release': 6,
        'pools.remove': 11,
        'locks.acquire': 7,
        'locks.release': 4,
        'kv.set': 5,
        'kv.get': 2,
        'counters.add': 3,
      })
      expect(await sent(1_000)).toEqual(few)
    })

    it('remove expired entries in bounded steps, and treat all of them as removed immediately', async () => {
      const { pools, kv, locks } = groups()
      const expires = clock.wallMs() + SECOND
      await pools.put(
        'p',
        names(1_250).map((id) => item(id, { expiresAtMs: expires })),
      )
      await pools.put('p', [item('stays')])
      await kv.set(
        'n',
        names(1_250).map((key) => ({ key, value: '1', ttlMs: SECOND })),
      )
      await locks.acquire(
        'n',
        names(1_250).map((name) => ({ name, owner: 'w1', holdMs: SECOND })),
      )
      clock.advance(SECOND)
      caller.runs.splice(0)
      expect(await pools.sizes(['p'])).toEqual([1])
      expect(sole(await pools.claim('p', [request(10)])).map(({ id }) => id)).toEqual(['stays'])
      expect(await kv.get('n', ['n0', 'n1249'])).toEqual([null, null])
      expect(await locks.acquire('n', [{ name: 'n1249', owner: 'w1', holdMs: SECOND }])).toEqual([
        { kind: 'acquired', token: expect.any(Number), expiresAtMs: clock.wallMs() + SECOND },
      ])
      expect(caller.runs.map(({ script }) => script)).toEqual([
        'pools.size',
        ...['pools.claim', 'kv.get', 'locks.acquire'].flatMap((name) => [name, name, name]),
      ])
      expect(Object.keys(await contents(client)).toSorted()).toEqual([
        'muster:{l:n}:h',
        'muster:{l:n}:m',
        'muster:{l:n}:x',
        'muster:{ns}:k',
        'muster:{ns}:l',
        ...['c', 'i', 'm', 'o', 's'].map((part) => `muster:{p:p}:${part}`),
      ])
    })

    it('leave nothing of a deleted value, an ended counter, a released lock or a removed item behind', async () => {
      const { pools, kv, locks, counters } = groups()
      const keys = async (): Promise<string[]> => Object.keys(await contents(client))
      await pools.put('p', [item('a', { expiresAtMs: clock.wallMs() + HOUR, tags: '{"a":1}' })])
      const before = await keys()
      const [claim] = sole(await pools.claim('p', [request(1)])).map(refOf)
      if (claim === undefined) throw new Error('a claim was expected')
      expect(await pools.release('p', [claim])).toEqual(['ok'])
      expect(await keys()).toEqual(before)
      expect(await pools.remove('p', [{ id: 'a', token: null }])).toEqual([true])
      await kv.set('n', [{ key: 'a', value: '1', ttlMs: HOUR }])
      await kv.delete('n', ['a'])
      const [lock] = await locks.acquire('n', [{ name: 'a', owner: 'w1', holdMs: MINUTE }])
      await locks.release('n', [{ name: 'a', token: lock?.kind === 'acquired' ? lock.token : 0 }])
      for (const delta of [1, -1]) await counters.add('n', [{ name: 'a', delta }])
      expect(await keys()).toEqual([
        'muster:{l:n}:m', // The next token of this namespace is above this one.
        ...['c', 'k', 'l'].map((kind) => `muster:{ns}:${kind}`),
        'muster:{p:p}:m',
      ])
    })

    it('frees thousands of expired claims in bounded steps', async () => {
      const { pools } = groups()
      await pools.put('p', items(2_500))
      for (const n of [1_000, 1_000, 500]) await pools.claim('p', [request(n)])
      clock.advance(MINUTE)
      expect(sole(await pools.claim('p', [request(1_000)])).map(({ id }) => id)).toEqual(names(1_000))
    })

    it('raise their tokens after a restart of the store and never lower them', async () => {
      const { pools, locks } = groups()
      await pools.put('p', items(10))
      const claim = async (): Promise<number> => sole(sole(await pools.claim('p', [request(1)]))).token
      const lock = async (name: string): Promise<number> => {
        const answer = sole(await locks.acquire('n', [{ name, owner: 'w1', holdMs: MINUTE }]))
        return answer.kind === 'acquired' ? answer.token : 0
      }
      const atStart = Math.ceil((clock.wallMs() * 1024) / SEGMENT) * SEGMENT + 1
      expect([await claim(), await claim(), await lock('a'), await lock('b')]).toEqual([
        atStart,
        atStart + 1,
        atStart,
        atStart + 1,
      ])
      caller.life = 'run-2'
      clock.stepWall(-HOUR)
      expect([await claim(), await claim(), await lock('c')]).toEqual([
        atStart + SEGMENT,
        atStart + SEGMENT + 1,
        atStart + SEGMENT,
      ])
      clock.stepWall(2 * HOUR)
      caller.life = 'run-3'
      expect(await claim()).toBe(Math.ceil((clock.wallMs() * 1024) / SEGMENT) * SEGMENT + 1)
    })

    it('match tags by their JSON value', async () => {
      const { pools } = groups()
      const tags = [
        '{"a\\nb":"\\n\\"x\\":1\\n","x":2}',
        '{"n":1e2,"x":1}',
        '{"s":"\\ud800"}',
        '{"big":1e400}',
        '{"deep":{"x":1}}',
        '{"__proto__":true}',
        '{"😀":"é"}',
      ]
      await pools.put(
        'p',
        tags.map((text, i) => item(`i${i}`, { tags: text })),
      )
      const asked = [
        { x: 1 },
        { n: 100 },
        { s: '\ud800' },
        { big: Infinity },
        { deep: 'x' },
        JSON.parse('{"__proto__":true}') as Record<string, boolean>,
        { '😀': 'é' },
        { x: 2, 'a\nb': '\n"x":1\n' },
      ]
      const got = await pools.claim(
        'p',
        asked.map((match) => request(2, match)),
      )
      expect(got.map((claims) => claims.map(({ id }) => id))).toEqual([
        ['i1'],
        [],
        ['i2'],
        [],
        [],
        ['i5'],
        ['i6'],
        ['i0'],
      ])
      expect(got.flat().map((claim) => claim.tags)).toEqual([tags[1], tags[2], tags[5], tags[6], tags[0]])
    })
  })
})
