/** Tests the event log that two masters share, with lost messages and restarts of the store. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { RedisEventLog } from '../../../src/storage/redis/events.ts'
import type { LoggedEvent, NewEvent } from '../../../src/storage/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { startRedis, withRedisServer, type RedisOptions, type RedisServer } from '../../kit/redis-server.ts'
import { Forwarder } from './forwarder.ts'
import { TracedCaller } from './traced.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

interface Master {
  readonly backend: RedisBackend
  readonly received: LoggedEvent[]
  until(isSo: () => boolean): Promise<void>
}

async function masters(options: RedisOptions = {}): Promise<{ server: RedisServer; first: Master; second: Master }> {
  const server = await startRedis(options)
  open.push(server)
  return { server, first: await masterOn(server, 1), second: await masterOn(server, 2) }
}

async function masterOn(server: { readonly url: string }, seed: number): Promise<Master> {
  const { master, opening } = startOn(server.url, seed)
  await opening
  return master
}

/** Begins to open a backend, whose listener is there from the beginning. */
function startOn(url: string, seed: number): { readonly master: Master; readonly opening: Promise<void> } {
  const backend = new RedisBackend({ url: parseStoreUrl(url), time: systemTime, random: seededRandom(seed) })
  open.push(backend)
  const opening = backend.open(AbortSignal.timeout(20_000))
  const received: LoggedEvent[] = []
  let reported = (): void => undefined
  backend.events.onAppend((events) => {
    received.push(...events)
    reported()
  })
  const until: Master['until'] = async (isSo) => {
    while (!isSo()) await new Promise<void>((resolve) => void (reported = resolve))
  }
  return { master: { backend, received, until }, opening }
}

const event = (n: number | string): NewEvent => ({
  name: 'worker.state',
  scope: 'render',
  data: `{"n":${JSON.stringify(n)}}`,
})
const reported = (events: readonly LoggedEvent[]): string[] => events.map(({ data }) => data)
const datas = (...ns: readonly (number | string)[]): string[] => ns.map((n) => event(n).data)

withRedisServer('redis event log', () => {
  describe('redis event log', () => {
    it('delivers every event to every master once, in one order (G10)', async () => {
      const { first, second } = await masters()
      await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          (n % 2 === 0 ? first : second).backend.events.append([event(n), event(`${n}'`)]),
        ),
      )
      await first.until(() => first.received.length >= 100)
      await second.until(() => second.received.length >= 100)
      expect(first.received).toEqual(second.received)
      expect(new Set(reported(first.received)).size).toBe(100)
      const middle = first.received[49]?.id ?? ''
      expect(await second.backend.events.read(middle, 1_000)).toEqual({
        kind: 'events',
        events: first.received.slice(50),
      })
    })

    it('notifies its own listeners before the append resolves if no event of another master is pending', async () => {
      const { first } = await masters()
      for (let n = 0; n < 3; n += 1) {
        await first.backend.events.append([event(n)])
        expect(first.received).toHaveLength(n + 1)
      }
    })

    it('reads the events that it missed during a connection loss (G10)', async () => {
      const { server, first, second } = await masters()
      await first.backend.events.append([event(0)])
      await second.until(() => second.received.length === 1)
      await server.connect().call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      for (let n = 1; n < 20; n += 1) await first.backend.events.append([event(n)])
      await second.until(() => second.received.length >= 20)
      expect(reported(second.received)).toEqual(datas(...Array.from({ length: 20 }, (_, n) => n)))
    })

    it('reads the events that were appended while it opened, before it was subscribed (G10)', async () => {
      const { server, first } = await masters()
      await first.backend.events.append([event(0)])
      const forwarder = await Forwarder.to(Number(new URL(server.url).port))
      open.push(forwarder)
      forwarder.refuse(/subscribe/i)
      const { master: third, opening } = startOn(server.url.replace(/:\d+$/, `:${forwarder.port}`), 3)
      await eventually(async () => forwarder.refusals > 0)
      await first.backend.events.append([event(1)])
      forwarder.refuse(null)
      await opening
      await eventually(async () => third.received.length > 0)
      expect(reported(third.received)).toEqual(datas(1))
    })

    it('fills the gap after a single lost message', async () => {
      const { server, first, second } = await masters()
      await first.backend.events.append([event(0)])
      await second.until(() => second.received.length === 1)
      // Simulates an append of another master whose message was lost.
      await server
        .connect()
        .multi()
        .rpush('muster:{ev}:log', JSON.stringify(['worker.state', 'render', event(1).data]))
        .hincrby('muster:{ev}:h', 'last', 1)
        .exec()
      await first.backend.events.append([event(2)])
      await second.until(() => second.received.length >= 3)
      await first.until(() => first.received.length >= 3)
      expect([reported(first.received), reported(second.received)]).toEqual([datas(0, 1, 2), datas(0, 1, 2)])
    })

    it('returns and publishes reset when a restarted store has a new log (D31)', async () => {
      const { server, first, second } = await masters()
      await first.backend.events.append([event(0), event(1)])
      await second.until(() => second.received.length === 2)
      const before = first.received[0]?.id ?? ''
      await server.restart()
      await first.backend.meta.info()
      await first.backend.events.append([event(2)])
      for (const master of [first, second])
        await master.until(() => master.received.some(({ name }) => name === 'reset'))
      expect(await first.backend.events.read(before, 10)).toEqual({ kind: 'reset' })
      const known = await first.backend.events.read('', 10)
      expect(known.kind === 'reset' ? known : reported(known.events)).toEqual(datas(2))
      expect(new Set(first.received.map(({ id }) => id)).size).toBe(first.received.length)
    })

    it('publishes reset when a new log began, because the old one may have had more events (G10)', async () => {
      const server = await startRedis()
      open.push(server)
      const caller = new TracedCaller(server.connect(), systemTime)
      const [here, there] = ['a', 'b'].map((run) => new RedisEventLog({ caller, draw: () => run }))
      const received: LoggedEvent[] = []
      await there?.append([event(0)])
      await here?.open()
      here?.onAppend((events) => received.push(...events))
      await there?.append([event('missed')]) // This log has no subscription here, so the message is lost.
      caller.life = 'run-2'
      await here?.append([event(2)])
      expect(await server.client.llen('muster:{ev}:log')).toBe(1) // Without the entries of the old log.
      await here?.catchUp()
      await here?.append([event(3)])
      expect(received.map(({ name, data }) => [name, data])).toEqual([
        ['reset', '{}'],
        ['worker.state', event(3).data],
      ])
    })

    it('publishes reset to a listener whose position was trimmed, and continues from there (D31)', async () => {
      const { server, first, second } = await masters()
      await first.backend.events.append([event(0)])
      await second.until(() => second.received.length === 1)
      // Simulates appends of another master whose messages were lost.
      const entry = JSON.stringify(['worker.state', 'render', event('missed').data])
      await server
        .connect()
        .multi()
        .rpush('muster:{ev}:log', ...Array.from({ length: 10_000 }, () => entry))
        .ltrim('muster:{ev}:log', -10_000, -1)
        .hincrby('muster:{ev}:h', 'last', 10_001)
        .exec()
      await first.backend.events.append([event('shows the gap')])
      await second.until(() => second.received.some(({ name }) => name === 'reset'))
      await first.backend.events.append([event('after')])
      await second.until(() => second.received.at(-1)?.data === event('after').data)
      expect(second.received.map(({ name }) => name)).toEqual(['worker.state', 'reset', 'worker.state'])
      expect(await second.backend.events.read(second.received[0]?.id ?? '', 1)).toEqual({ kind: 'reset' })
      expect(await second.backend.events.read(second.received[1]?.id ?? '', 10)).toEqual({
        kind: 'events',
        events: second.received.slice(2),
      })
    })

    it('counts the bytes of events that a master of an older release appended (D84)', async () => {
      const { server, first } = await masters()
      await first.backend.events.append([event(0)])
      const entry = JSON.stringify(['worker.state', 'render', JSON.stringify('x'.repeat(1_048_576))])
      const log = server.connect()
      for (let n = 0; n < 20; n += 1)
        await log.multi().rpush('muster:{ev}:log', entry).hincrby('muster:{ev}:h', 'last', 1).exec()
      await first.backend.events.append([event(1)])
      expect(await log.llen('muster:{ev}:log')).toBe(16) // 15 of the large events and the new one.
    })

    it('reads an event that is larger than a response (D84)', async () => {
      const server = await startRedis()
      open.push(server)
      const log = new RedisEventLog({ caller: new TracedCaller(server.connect(), systemTime), draw: () => 'a' })
      await log.open()
      const large: NewEvent = { ...event(0), data: JSON.stringify('x'.repeat(33 * 1_048_576)) }
      await log.append([large])
      const found = await log.read('', 10)
      expect(found.kind === 'events' && found.events.map(({ data }) => data.length)).toEqual([large.data.length])
    }, 30_000)

    it('stores changes that were recorded together as a reset for older releases (D135)', async () => {
      const { server, first, second } = await masters()
      const batch: NewEvent = { ...event(1), more: [event('2" ]').data, event(3).data] }
      await first.backend.events.append([event(0), batch, event(4)])
      await second.until(() => second.received.length === 3)
      expect(second.received).toEqual(first.received)
      expect(second.received[1]).toEqual({ id: first.received[1]?.id, ...batch })
      const stored = await server.connect().lrange('muster:{ev}:log', 0, -1)
      const asOlderRelease = stored.map((entry) => (JSON.parse(entry) as string[]).slice(0, 3))
      expect(asOlderRelease).toEqual([
        ['worker.state', 'render', event(0).data],
        ['reset', 'render', '{}'],
        ['worker.state', 'render', event(4).data],
      ])
    })

    it('keeps hostile text in events and their ids unchanged', async () => {
      const { first, second } = await masters()
      const odd: NewEvent = { name: 'n', scope: '{"]', data: '{"a":"\\u0000 🦊 \\" ] ["}' }
      await first.backend.events.append([odd, event(1)])
      await second.until(() => second.received.length === 2)
      expect(second.received[0]).toMatchObject(odd)
      expect(await second.backend.events.read('', 1)).toEqual({ kind: 'events', events: [second.received[0]] })
    })
  })
})
