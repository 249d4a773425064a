/** Tests messages between two masters on one store. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import type { Backend, MasterSignal } from '../../../src/storage/index.ts'
import { fails, HOSTILE, inFlight, nack, ref, reserve, submit, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import { eventually } from '../../kit/eventually.ts'
import { Forwarder } from './forwarder.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function masterOn(server: { readonly url: string }, seed: number): Promise<RedisBackend> {
  const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(seed) })
  open.push(backend)
  await backend.open(AbortSignal.timeout(20_000))
  await backend.meta.beat(`m${seed}`)
  return backend
}

async function twoMasters(): Promise<{ server: RedisServer; first: RedisBackend; second: RedisBackend }> {
  const server = await startRedis()
  open.push(server)
  const [first, second] = [await masterOn(server, 1), await masterOn(server, 2)]
  await first.meta.beat('m1') // Otherwise it may not know yet that it has company.
  return { server, first, second }
}

/** Records the signals of a master. `next` waits until it has received `count` signals. */
function signalsOf(backend: Backend): {
  readonly received: MasterSignal[]
  next(count: number): Promise<readonly MasterSignal[]>
} {
  const received: MasterSignal[] = []
  let reported = (): void => undefined
  backend.bus.onSignal((signal) => {
    received.push(signal)
    reported()
  })
  return {
    received,
    next: async (count) => {
      while (received.length < count) await new Promise<void>((resolve) => void (reported = resolve))
      return received
    },
  }
}

/** Records wakes, and the masters that join. */
async function publishedOn(server: RedisServer): Promise<readonly string[]> {
  const messages: string[] = []
  const client = server.connect()
  client.on('message', (_channel: string, message: string) => void messages.push(message))
  await client.subscribe('muster:wake', 'muster:join')
  return messages
}

withRedisServer('redis bus', () => {
  describe('redis bus', () => {
    it('delivers a signal only to the addressed master (D33)', async () => {
      const { first, second } = await twoMasters()
      const [ones, twos] = [signalsOf(first), signalsOf(second)]
      const signals: MasterSignal[] = [
        { kind: 'config_changed', ref: ref('{w}:*'), conn: 'm2/1', gen: 2 ** 40 },
        { kind: 'drain', ref: ref('w'), conn: 'm2/1' },
        { kind: 'replaced', ref: ref('w'), conn: 'm2/1' },
        { kind: 'cancelled', ref: ref('w'), conn: 'm2/1', leases: [{ id: 'a', token: 2 ** 40 }] },
        { kind: 'wake', type: TYPE },
      ]
      for (const signal of signals) await first.bus.signal('m2', signal)
      expect(await twos.next(5)).toEqual(signals)
      expect(ones.received).toEqual([])
    })

    it('delivers several signals in one message, without what is no signal (D135)', async () => {
      const { server, first, second } = await twoMasters()
      const twos = signalsOf(second)
      const drain: MasterSignal = { kind: 'drain', ref: ref('w'), conn: 'm2/1' }
      const changed: MasterSignal = { kind: 'config_changed', ref: ref('v'), conn: 'm2/2', gen: 1 }
      await first.bus.signal('m2', drain, changed, drain)
      expect(await twos.next(3)).toEqual([drain, changed, drain])
      const publish = (text: string): Promise<unknown> => server.connect().publish('muster:s:m2', text)
      for (const text of ['[]', '[null, 1, [], {}]', `[${JSON.stringify(changed)}, [${JSON.stringify(drain)}]]`, '['])
        await publish(text)
      await first.bus.signal('m2', drain)
      expect(await twos.next(5)).toEqual([drain, changed, drain, changed, drain])
    })

    it('wakes every other master when a task is added to an empty tier', async () => {
      const { first, second } = await twoMasters()
      const [ones, twos] = [signalsOf(first), signalsOf(second)]
      await submit(first, 'a')
      expect(await twos.next(1)).toEqual([{ kind: 'wake', type: TYPE }])
      await first.bus.signal('m1', { kind: 'wake', type: 'x' })
      expect(await ones.next(1)).toEqual([{ kind: 'wake', type: 'x' }]) // Its own message came before this one.
    })

    it('publishes no wake while the master is alone, and does as soon as another one joins (D131)', async () => {
      const server = await startRedis()
      open.push(server)
      const first = await masterOn(server, 1)
      const published = await publishedOn(server)
      await submit(first, 'a')
      await server.connect().publish('muster:wake', 'end')
      await eventually('the last message', () => published.includes('end'))
      expect(published).toEqual(['end'])
      const second = await masterOn(server, 2)
      const twos = signalsOf(second)
      await eventually('the second master joins', () => published.includes('m2'))
      await reserve(first, 1)
      await submit(first, 'b')
      expect(await twos.next(1)).toEqual([{ kind: 'wake', type: TYPE }])
    })

    it('publishes wakes until the next heartbeat after its subscriptions were interrupted (D131)', async () => {
      const server = await startRedis()
      open.push(server)
      const first = await masterOn(server, 1)
      const ones = signalsOf(first)
      await first.tasks.reserve('mailer', VISIBILITY, [{ worker: 'w', limit: 1, gen: 0, defaultMaxAttempts: 3 }])
      await server.connect().call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await ones.next(1) // It has subscribed again.
      const published = await publishedOn(server)
      await submit(first, 'a')
      await eventually('a wake', () => published.length === 1)
      await reserve(first, 1)
      await first.meta.beat('m1')
      await submit(first, 'b')
      await server.connect().publish('muster:wake', 'end')
      await eventually('the last message', () => published.includes('end'))
      expect(published).toHaveLength(2)
    })

    it('notifies the other masters of a retained task that has finished (D111)', async () => {
      const { server, first, second } = await twoMasters()
      const [ones, twos] = [signalsOf(first), signalsOf(second)]
      const leases = await inFlight(first, 'plain', task('a "1"', { retainMs: 60_000 }))
      await first.tasks.ack(TYPE, leases)
      const finished = { kind: 'finished', type: TYPE, ids: ['a "1"'] }
      await server.connect().publish('muster:fin', `${TYPE} other [}]`)
      await server.connect().publish('muster:fin', `${TYPE} other [1,"b"]`)
      const others = [
        { kind: 'finished', type: TYPE, ids: [] },
        { kind: 'finished', type: TYPE, ids: ['b'] },
      ]
      const of = (signals: readonly MasterSignal[]) => signals.filter(({ kind }) => kind === 'finished')
      while (of(twos.received).length < 3) await twos.next(twos.received.length + 1)
      expect(of(twos.received)).toEqual([finished, ...others])
      while (of(ones.received).length < 2) await ones.next(ones.received.length + 1)
      expect(of(ones.received)).toEqual(others)
    })

    it('wakes on the message of an older release, which names no publisher', async () => {
      const { server, first } = await twoMasters()
      const ones = signalsOf(first)
      await server.connect().publish('muster:wake', TYPE)
      expect(await ones.next(1)).toEqual([{ kind: 'wake', type: TYPE }])
    })

    it('wakes every master when a reserve makes more retries pending than it returns', async () => {
      const { first } = await twoMasters()
      const ones = signalsOf(first)
      await nack(first, await inFlight(first, 'a', 'b'), { retryInMs: 0 })
      expect(await reserve(first, 1)).toHaveLength(1)
      expect(await ones.next(1)).toEqual([{ kind: 'wake', type: TYPE }])
    })

    it('resubscribes after a lost connection and wakes all waiting types', async () => {
      const { server, first, second } = await twoMasters()
      await second.tasks.reserve('mailer', VISIBILITY, [{ worker: 'w', limit: 1, gen: 0, defaultMaxAttempts: 3 }])
      const twos = signalsOf(second)
      const received: string[] = []
      await second.bus.subscribe('news', (data) => received.push(data))
      await server.connect().call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      expect(await twos.next(1)).toEqual([{ kind: 'wake', type: 'mailer' }])
      await first.bus.publish([{ topic: 'news', data: '1' }])
      await first.bus.signal('m2', { kind: 'wake', type: 'x' })
      await twos.next(2)
      expect(new Set(received)).toEqual(new Set(['1']))
    })

    it('accepts any topic, and ends each subscription independently', async () => {
      const { first, second } = await twoMasters()
      const received: string[] = []
      const ends = await Promise.all(
        HOSTILE.flatMap((topic, n) => [
          second.bus.subscribe(topic, (data) => received.push(`${n} ${data}`)),
          second.bus.subscribe(topic, () => undefined),
        ]),
      )
      for (const end of ends.filter((_, n) => n % 2 === 1)) end()
      await first.bus.publish(HOSTILE.map((topic, n) => ({ topic, data: `"${n}"` })))
      while (received.length < HOSTILE.length) await new Promise(setImmediate)
      expect(received).toEqual(HOSTILE.map((_, n) => `${n} "${n}"`))
      for (const end of ends) {
        end()
        end()
      }
      await first.bus.publish(HOSTILE.map((topic) => ({ topic, data: 'late' })))
      const twos = signalsOf(second)
      await first.bus.signal('m2', { kind: 'wake', type: 'x' })
      await twos.next(1)
      expect(received).toHaveLength(HOSTILE.length)
    })

    it('ignores malformed messages on its channels', async () => {
      const { server, first, second } = await twoMasters()
      const twos = signalsOf(second)
      for (const text of [
        '',
        'null',
        '[]',
        '{"kind":"drain"}',
        '{"kind":"wake"}',
        '{"kind":"config_changed","ref":{"type":"a","id":"b"},"conn":"c"}',
        '{"kind":"cancelled","ref":{"type":"a","id":"b"},"conn":"c"}',
        '{"kind":"cancelled","ref":{"type":"a","id":"b"},"conn":"c","leases":[{"id":1,"token":2}]}',
        '{"kind":"cancelled","ref":{"type":"a","id":"b"},"conn":"c","leases":[null]}',
        '{"kind":"other","ref":{"type":"a","id":"b"},"conn":"c"}',
      ])
        await server.connect().publish('muster:s:m2', text)
      await server.connect().publish('muster:ev', 'nonsense')
      await first.bus.signal('m2', { kind: 'wake', type: 'x' })
      expect(await twos.next(1)).toEqual([{ kind: 'wake', type: 'x' }])
    })

    it('receives messages again within 10 s after a silent network failure (G18)', async () => {
      const server = await startRedis()
      const network = await Forwarder.to(server.port)
      open.push(server, network)
      const [first, second] = [
        await masterOn(server, 1),
        await masterOn({ url: `kvstore://127.0.0.1:${network.port}` }, 2),
      ]
      const received: string[] = []
      await second.bus.subscribe('news', (data) => void received.push(data))
      network.freeze()
      await pause(5_000) // Connections made during the failure are dead as well.
      network.mend()
      const mendedMs = systemTime.monotonicMs()
      while (received.length === 0 && systemTime.monotonicMs() - mendedMs < 15_000) {
        await first.bus.publish([{ topic: 'news', data: '1' }])
        await pause(50)
      }
      expect(new Set(received)).toEqual(new Set(['1']))
      expect(systemTime.monotonicMs() - mendedMs).toBeLessThan(10_000)
    }, 30_000)

    it('rejects a subscription while the store is unavailable', async () => {
      const { server, second } = await twoMasters()
      await server.kill()
      await expect(second.bus.subscribe('news', () => undefined)).rejects.toEqual(fails('STORAGE_UNAVAILABLE'))
    })
  })
})
