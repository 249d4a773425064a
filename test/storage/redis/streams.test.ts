/**
 * Tests the streams in Redis: the commands of the scripts, publishing, producers, the order of pushes, and what a
 * failure leaves.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import type { Caller, Reply } from '../../../src/storage/redis/caller.ts'
import { createStreams, greatestUpTo } from '../../../src/storage/redis/streams.ts'
import type { Streams } from '../../../src/storage/index.ts'
import { HOUR, ids, ManualClock, SECOND, TYPE } from '../contract/fixture.ts'
import { contents, testAtomicity } from './atomicity.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

const READS = new Set(['INFO', 'HMGET', 'HLEN', 'HGETALL', 'LLEN', 'LRANGE', 'LINDEX', 'PUBSUB'])
const MIB = 1_048_576
const entry = (name: string | number): string => `{"slot_id":0,"ts":1,"payload":{"of":${JSON.stringify(name)}}}`
const entries = (n: number): string[] => Array.from({ length: n }, (_, i) => entry(i))

let server: RedisServer
let client: Redis
let caller: TracedCaller
let clock: ManualClock
let streams: Streams

/** Makes pushes of which one has expired and one was popped in part. Returns one call of every method. */
async function calls(): Promise<readonly (() => Promise<unknown>)[]> {
  await streams.push(TYPE, 'm1', 1, entries(4))
  clock.advance(SECOND)
  await streams.push(TYPE, 'm1', 2, entries(2))
  const [first] = await streams.pop(TYPE, 1)
  clock.advance(HOUR - SECOND)
  return [
    () => streams.push(TYPE, 'm2', 1, entries(2)),
    () => streams.push(TYPE, 'm1', 2, entries(2)),
    () => streams.peek(TYPE, 10),
    () => streams.pop(TYPE, 4),
    () => streams.tail(TYPE, null, 3),
    () => streams.tail(TYPE, first?.id ?? '', 3),
    () => streams.length([TYPE]),
  ]
}

/** Returns all messages published while `act` runs. */
async function received(pattern: string | null, act: () => Promise<unknown>): Promise<readonly string[]> {
  const listener = client.duplicate()
  const messages: string[] = []
  listener.on('message', (_channel: string, message: string) => messages.push(message))
  listener.on('pmessage', (_pattern: string, _channel: string, message: string) => messages.push(message))
  await (pattern === null ? listener.subscribe(`muster:event:${TYPE}.emit`) : listener.psubscribe(pattern))
  await act()
  await listener.ping() // Earlier messages are delivered before the reply.
  listener.disconnect()
  return messages
}

withRedisServer('redis streams', () => {
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
    streams = createStreams(caller, () => 'asked')
  })

  describe('redis scripts of streams', () => {
    testAtomicity({
      client: () => client,
      caller: () => caller,
      reset: async () => {
        await client.flushall()
        clock = new ManualClock()
        caller = new TracedCaller(client, clock)
        streams = createStreams(caller, () => 'asked')
      },
      calls,
      reads: READS,
    })

    it('send as many commands for a thousand entries as for one', async () => {
      const sent = async (type: string, n: number): Promise<Record<string, number>> => {
        await streams.push(type, 'm1', 1, entries(n))
        await streams.push(type, 'm1', 2, entries(n))
        await streams.peek(type, n)
        await streams.tail(type, null, n)
        await streams.pop(type, n)
        return Object.fromEntries(caller.runs.map(({ script, commands }) => [script, commands.length]))
      }
      const one = await sent('a', 1)
      // On a server, a script that needs the time sends one more command: TIME. The test passes its own clock instead.
      expect(one).toEqual({ 'streams.push': 9, 'streams.peek': 4, 'streams.tail': 8, 'streams.pop': 7 })
      expect(await sent('b', 1_000)).toEqual(one)
    })

    it('read no more pushes than contain the entries', async () => {
      for (let i = 0; i < 250; i += 1) await streams.push(TYPE, 'm1', i, entries(1))
      for (const read of [() => streams.peek(TYPE, 1), () => streams.pop(TYPE, 1)]) {
        await read()
        const { commands } = caller.runs.at(-1) ?? { commands: [] }
        expect(commands.filter((command) => command === 'LRANGE')).toHaveLength(2)
      }
    })

    it('count the bytes of every push after a master of an older release changed the stream (D83)', async () => {
      for (let i = 0; i < 1_001; i += 1) await streams.push(TYPE, 'm1', i, ['1'])
      await client.hdel(`muster:{o:${TYPE}}:h`, 'size')
      expect(await streams.bytes([TYPE])).toEqual([1_001])
    })

    it('leave no entry and no push behind once everything was popped', async () => {
      await calls()
      await streams.pop(TYPE, 10)
      expect(Object.keys(await contents(client))).toEqual([`muster:{o:${TYPE}}:h`])
    })
  })

  describe('redis streams.push', () => {
    it('publishes every entry once, in order, if there is a subscriber', async () => {
      expect(await received(null, () => streams.push(TYPE, 'm1', 1, entries(3)))).toEqual(entries(3))
      expect(await received('muster:event:*', () => streams.push(TYPE, 'm1', 2, entries(2)))).toEqual(entries(2))
      expect(await received(null, () => streams.push(TYPE, 'm1', 2, entries(2)))).toEqual([])
      expect(await received(null, () => streams.push('other', 'm1', 1, entries(2)))).toEqual([])
    })

    it('does not publish without a subscriber, except in a cluster with an older master', async () => {
      await streams.push(TYPE, 'm1', 1, entries(3))
      expect(caller.runs.at(-1)?.commands).not.toContain('PUBLISH')
      await createStreams(caller, () => 'always').push(TYPE, 'm1', 2, entries(3))
      expect(caller.runs.at(-1)?.commands.filter((command) => command === 'PUBLISH')).toHaveLength(3)
    })

    it('remembers a thousand producers and drops the one that was idle longest', async () => {
      for (let i = 0; i < 1_000; i += 1) {
        await streams.push(TYPE, `m${i}`, 1, ['1'])
        clock.advance(1)
      }
      await streams.pop(TYPE, 1)
      await streams.push(TYPE, 'm0', 2, ['1'])
      await streams.push(TYPE, 'new', 1, ['1'])
      const repeated = async (producer: string, seq: number): Promise<boolean> => {
        const [before] = await streams.length([TYPE])
        return (await streams.push(TYPE, producer, seq, ['1'])).length === before
      }
      expect([
        await repeated('m0', 2),
        await repeated('new', 1),
        await repeated('m2', 1),
        await repeated('m1', 1),
      ]).toEqual([true, true, true, false])
      expect(await client.hlen(`muster:{o:${TYPE}}:h`)).toBe(1_004)
    })

    it('sends one push of a type at a time, so that a later push cannot overtake a repeated one', async () => {
      const started: string[] = []
      let answer: (reply: Reply) => void = () => undefined
      const first = new Promise<Reply>((resolve) => {
        answer = resolve
      })
      const held: Caller = {
        runId: () => '',
        channel: (name) => name,
        publisher: '',
        run: (_script, keys, args) => {
          started.push(`${keys[0]} ${args[1]}`)
          return args[1] === 1 ? first : Promise.resolve([1, 0])
        },
      }
      const onHeld = createStreams(held, () => 'asked')
      const pushes = [onHeld.push('a', 'm1', 1, ['1']), onHeld.push('a', 'm1', 2, ['1'])]
      await onHeld.push('b', 'm1', 3, ['1'])
      expect(started).toEqual(['muster:{o:a}:l 1', 'muster:{o:b}:l 3'])
      answer([1, 0])
      await Promise.all(pushes)
      expect(started).toEqual(['muster:{o:a}:l 1', 'muster:{o:b}:l 3', 'muster:{o:a}:l 2'])
    })

    it('is rejected at the memory limit, where pop still works', async () => {
      await streams.push(TYPE, 'm1', 1, entries(3))
      await client.config('SET', 'maxmemory', '1')
      await expect(streams.push(TYPE, 'm1', 2, entries(3))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      expect(await streams.pop(TYPE, 10)).toHaveLength(3)
    })

    it('keeps growing ids when the clock of the store steps back', async () => {
      await streams.push(TYPE, 'm1', 1, ['1'])
      clock.stepWall(-HOUR)
      await streams.push(TYPE, 'm1', 2, ['2'])
      const all = ids(await streams.peek(TYPE, 2))
      expect(all).toEqual(all.toSorted())
      expect((await streams.tail(TYPE, all[0] ?? '', 5)).entries).toEqual([{ id: all[1], entry: '2' }])
    })
  })

  describe('redis streams.tail', () => {
    it('returns at most 32 MiB of the newest entries, but at least one', async () => {
      for (let i = 1; i <= 4; i += 1) await streams.push(TYPE, 'm1', i, [String(i).repeat(9 * MIB), `end ${i}`])
      const { entries: found } = await streams.tail(TYPE, null, 100)
      expect(found.map((each) => each.entry.slice(0, 5))).toEqual([
        'end 1',
        '22222',
        'end 2',
        '33333',
        'end 3',
        '44444',
        'end 4',
      ])
      await streams.push(TYPE, 'm1', 5, ['5'.repeat(33 * MIB)])
      expect((await streams.tail(TYPE, null, 100)).entries.map((each) => each.entry.slice(0, 5))).toEqual(['55555'])
      expect((await streams.tail(TYPE, found.at(-1)?.id ?? '', 100)).entries).toHaveLength(1)
    }, 30_000)

    it('treats any text like an id, compared as text', () => {
      const digits = (n: number) => fc.stringMatching(new RegExp(`^[0-9]{${n}}$`))
      const id = fc
        .tuple(
          fc.constantFrom('1700000000000', '1700000000001', '0000000000000', '9999999999999'),
          fc.oneof(
            digits(5).map((end) => `00000000000${end}`),
            digits(16),
          ),
        )
        .map((parts) => parts.join('-'))
      const text = fc.oneof(
        id,
        fc.string(),
        fc.tuple(id, fc.nat(29), fc.string({ maxLength: 2 })).map(([whole, at, end]) => whole.slice(0, at) + end),
        fc.tuple(id, fc.string()).map((parts) => parts.join('')),
      )
      fc.assert(
        fc.property(id, text, (of, after) => {
          const [ms, sequence] = greatestUpTo(after)
          const [ofMs = 0, ofSequence = 0] = of.split('-').map(Number)
          fc.pre(ofSequence < Number.MAX_SAFE_INTEGER && sequence < Number.MAX_SAFE_INTEGER)
          expect(ofMs > ms || (ofMs === ms && ofSequence > sequence)).toBe(of > after)
        }),
        { numRuns: 20_000 },
      )
    })
  })
})
