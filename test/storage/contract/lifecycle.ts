/** Contract of the backend as a whole: open and close, epoch, health, argument checks, bus and event log. */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOUR,
  MINUTE,
  RETRY,
  TYPE,
  VISIBILITY,
  conn,
  fails,
  ids,
  item,
  ref,
  registration,
  reopen,
  start,
  task,
  storeFixtures,
  ManualClock,
} from './fixture.ts'
import type { Create } from './fixture.ts'
import {
  eventsIn,
  type Backend,
  type LoggedEvent,
  type MasterSignal,
  type NewEvent,
} from '../../../src/storage/index.ts'

/** One call of every method that returns a promise. */
export const CALLS: Record<string, (backend: Backend) => Promise<unknown>> = {
  'meta.info': (b) => b.meta.info(),
  'meta.beat': (b) => b.meta.beat('m1'),
  'workers.register': (b) => b.workers.register([registration('w', 'm1/1')]),
  'workers.beat': (b) => b.workers.beat([conn('w', 'm1/1')]),
  'workers.disconnect': (b) => b.workers.disconnect([conn('w', 'm1/1')]),
  'workers.drain': (b) => b.workers.drain([ref('w')]),
  'workers.manage': (b) => b.workers.manage([{ ...ref('w'), managedBy: null }]),
  'workers.forget': (b) => b.workers.forget([ref('w')]),
  'workers.get': (b) => b.workers.get([ref('w')]),
  'workers.page': (b) => b.workers.page(TYPE, null, 1),
  'configs.put': (b) => b.configs.put({ ...ref('w'), expectGen: 0, config: '{}', changed: [], actor: 'admin' }),
  'configs.get': (b) => b.configs.get([ref('w')]),
  'configs.history': (b) => b.configs.history(ref('w'), 1),
  'configs.raise': (b) => b.configs.raise([{ ...ref('w'), above: 1 }]),
  'stats.read': (b) => b.stats.read(ref('w'), 0, 1),
  'streams.push': (b) => b.streams.push(TYPE, 'm1', 1, ['{}']),
  'streams.tail': (b) => b.streams.tail(TYPE, null, 1),
  'streams.peek': (b) => b.streams.peek(TYPE, 1),
  'streams.pop': (b) => b.streams.pop(TYPE, 1),
  'streams.length': (b) => b.streams.length([TYPE]),
  'tasks.submit': (b) => b.tasks.submit(TYPE, DAY, [task('a')]),
  'tasks.reserve': (b) => b.tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit: 1, gen: 0, defaultMaxAttempts: 1 }]),
  'tasks.ack': (b) => b.tasks.ack(TYPE, [{ id: 'a', token: 1 }]),
  'tasks.nack': (b) =>
    b.tasks.nack(TYPE, RETRY, [{ id: 'a', token: 1, error: 'e', retryInMs: null, permanent: false, jitter: 0 }]),
  'tasks.release': (b) => b.tasks.release(TYPE, [{ id: 'a', token: 1 }]),
  'tasks.extend': (b) => b.tasks.extend(TYPE, [{ id: 'a', token: 1, visibilityMs: VISIBILITY }]),
  'tasks.sweep': (b) => b.tasks.sweep(TYPE, 10, 500),
  'tasks.locate': (b) => b.tasks.locate(TYPE, ['a']),
  'tasks.queue': (b) => b.tasks.queue(TYPE, 1),
  'tasks.dead': (b) => b.tasks.dead(TYPE, 1),
  'tasks.replay': (b) => b.tasks.replay(TYPE, 1),
  'tasks.newestDeath': (b) => b.tasks.newestDeath(TYPE),
  'tasks.clearDead': (b) => b.tasks.clearDead(TYPE),
  'tasks.applyToDead': (b) => b.tasks.applyToDead(TYPE, 'remove', ['a']),
  'tasks.counts': (b) => b.tasks.counts([TYPE]),
  'pools.put': (b) => b.pools.put('p', [item('a')]),
  'pools.remove': (b) => b.pools.remove('p', [{ id: 'a', token: null }]),
  'pools.claim': (b) => b.pools.claim('p', [{ owner: 'w', n: 1, holdMs: MINUTE, match: {} }]),
  'pools.extend': (b) => b.pools.extend('p', [{ id: 'a', token: 1, holdMs: MINUTE }]),
  'pools.release': (b) => b.pools.release('p', [{ id: 'a', token: 1 }]),
  'pools.list': (b) => b.pools.list('p', 1),
  'pools.claims': (b) => b.pools.claims('p', 1, null),
  'pools.sizes': (b) => b.pools.sizes(['p']),
  'kv.get': (b) => b.kv.get('ns', ['a']),
  'kv.set': (b) => b.kv.set('ns', [{ key: 'a', value: '1', ttlMs: null }]),
  'kv.delete': (b) => b.kv.delete('ns', ['a']),
  'locks.acquire': (b) => b.locks.acquire('ns', [{ name: 'a', owner: 'w', holdMs: MINUTE }]),
  'locks.extend': (b) => b.locks.extend('ns', [{ name: 'a', token: 1, holdMs: MINUTE }]),
  'locks.release': (b) => b.locks.release('ns', [{ name: 'a', token: 1 }]),
  'counters.add': (b) => b.counters.add('ns', [{ name: 'a', delta: 1 }]),
  'counters.get': (b) => b.counters.get('ns', ['a']),
  'bus.publish': (b) => b.bus.publish([{ topic: 't', data: '{}' }]),
  'bus.subscribe': (b) => b.bus.subscribe('t', () => undefined),
  'bus.signal': (b) => b.bus.signal('m1', { kind: 'wake', type: TYPE }),
  'events.append': (b) => b.events.append([{ name: 'n', scope: TYPE, data: '{}' }]),
  'events.read': (b) => b.events.read('', 1),
}

/** Calls with arguments that only a programming error can produce. */
const wrong: Record<string, (backend: Backend) => Promise<unknown>> = {
  'no task at all': (b) => b.tasks.submit(TYPE, DAY, []),
  '501 tasks': (b) =>
    b.tasks.submit(
      TYPE,
      DAY,
      Array.from({ length: 501 }, (_, i) => task(`t${i}`)),
    ),
  'an empty id': (b) => b.tasks.submit(TYPE, DAY, [task('ok'), task('')]),
  'an id of 257 characters': (b) => b.tasks.submit(TYPE, DAY, [task('x'.repeat(257))]),
  'an id without a UTF-8 form': (b) => b.tasks.submit(TYPE, DAY, [task('\ud800')]),
  'a ttl below a second': (b) => b.tasks.submit(TYPE, DAY, [task('a', { ttlMs: 999 })]),
  'half a millisecond': (b) => b.tasks.submit(TYPE, DAY, [task('a', { ttlMs: 1000.5 })]),
  'a visibility below a second': (b) =>
    b.tasks.reserve(TYPE, 999, [{ worker: 'w', limit: 1, gen: 0, defaultMaxAttempts: 1 }]),
  'a limit of 0': (b) => b.tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit: 0, gen: 0, defaultMaxAttempts: 1 }]),
  'a retry after more than a day': (b) =>
    b.tasks.nack(TYPE, RETRY, [{ id: 'a', token: 1, error: 'e', retryInMs: DAY + 1, permanent: false, jitter: 0 }]),
  'a jitter of 1': (b) =>
    b.tasks.nack(TYPE, RETRY, [{ id: 'a', token: 1, error: 'e', retryInMs: null, permanent: false, jitter: 1 }]),
  'a broken token': (b) => b.tasks.ack(TYPE, [{ id: 'a', token: 1.5 }]),
  'an n of 10,001': (b) => b.tasks.queue(TYPE, 10_001),
  'a replay of 501': (b) => b.tasks.replay(TYPE, 501),
  'an empty push': (b) => b.streams.push(TYPE, 'm1', 1, []),
  'a push of 1,001 entries': (b) =>
    b.streams.push(
      TYPE,
      'm1',
      1,
      Array.from({ length: 1_001 }, () => '{}'),
    ),
  'a page of 1,001': (b) => b.workers.page(TYPE, null, 1_001),
  'a hold below a second': (b) => b.locks.acquire('ns', [{ name: 'a', owner: 'w', holdMs: 999 }]),
  'a hold above twelve hours': (b) => b.pools.claim('p', [{ owner: 'w', n: 1, holdMs: 12 * HOUR + 1, match: {} }]),
  'half a count': (b) => b.counters.add('ns', [{ name: 'a', delta: 0.5 }]),
}

export function lifecycle(name: string, create: Create): void {
  describe(`${name} backend: open and close`, () => {
    const open = storeFixtures(create)

    for (const [method, call] of Object.entries(CALLS)) {
      it(`rejects ${method} before open and after close`, async () => {
        const fresh = await create(new ManualClock())
        await expect(call(fresh)).rejects.toEqual(fails('STORAGE_NOT_OPEN'))
        const { backend } = await open()
        await call(backend)
        await backend.close()
        await expect(call(backend)).rejects.toEqual(fails('STORAGE_NOT_OPEN'))
      })
    }

    it('can be closed repeatedly, opened or not, and opened again', async () => {
      const fresh = await create(new ManualClock())
      await fresh.close()
      const { backend } = await open()
      await Promise.all([backend.close(), backend.close()])
      await backend.close()
      await start(backend)
      expect(await backend.kv.get('ns', ['a'])).toEqual([null])
    })

    it('completes accepted calls before it closes', async () => {
      const { backend } = await open()
      const accepted = Array.from({ length: 20 }, (_, i) => backend.counters.add('ns', [{ name: 'a', delta: i }]))
      await backend.close()
      await expect(Promise.all(accepted)).resolves.toHaveLength(20)
    })

    it('reports its health without I/O', async () => {
      const { backend } = await open()
      expect(backend.health()).toEqual({
        ok: true,
        profile: backend.capabilities.durable ? 'durable' : 'volatile',
        sinceMs: expect.any(Number),
        detail: expect.any(String),
      })
      await backend.close()
      expect(backend.health().ok).toBe(false)
    })

    for (const [fault, call] of Object.entries(wrong)) {
      it(`throws TypeError for ${fault}, before any effect`, async () => {
        const { backend } = await open()
        await expect((async () => call(backend))()).rejects.toThrow(TypeError)
        expect(await backend.tasks.counts([TYPE])).toMatchObject([{ tiers: [0, 0, 0], totals: { submitted: 0 } }])
      })
    }
  })

  describe(`${name} backend: meta`, () => {
    const open = storeFixtures(create)

    it('generates an epoch once, for an empty store (D15)', async () => {
      const { backend } = await open()
      const { epoch, schema } = await backend.meta.info()
      expect(epoch).toMatch(/^[\w-]{8,64}$/)
      expect(schema).toBeGreaterThan(0)
      expect((await backend.meta.info()).epoch).toBe(epoch)
      await reopen(backend)
      expect((await backend.meta.info()).epoch === epoch).toBe(backend.capabilities.durable)
      const other = await open()
      expect((await other.backend.meta.info()).epoch).not.toBe(epoch)
    })

    it('has a clock that does not follow steps of the wall clock', async () => {
      const { backend, clock } = await open()
      const { nowMs } = await backend.meta.info()
      expect(nowMs).toBe(clock.wallMs())
      clock.stepWall(-HOUR)
      clock.advance(5)
      expect((await backend.meta.info()).nowMs).toBe(nowMs + 5)
    })
  })

  describe(`${name} backend: bus`, () => {
    const open = storeFixtures(create)

    it('delivers messages to the subscribers of a topic if and only if it declares pubsub', async () => {
      const { backend } = await open()
      const received: string[] = []
      const end = await backend.bus.subscribe('a', (data) => received.push(data))
      await backend.bus.publish([
        { topic: 'a', data: '1' },
        { topic: 'b', data: '2' },
      ])
      if (backend.capabilities.pubsub) while (received.length === 0) await new Promise(setImmediate)
      expect(received).toEqual(backend.capabilities.pubsub ? ['1'] : [])
      end()
    })

    it('delivers signals to the only master until the listener is removed', async () => {
      const { backend } = await open()
      if (backend.capabilities.shared) return
      const [first, second]: MasterSignal[][] = [[], []]
      const end = backend.bus.onSignal((signal) => first?.push(signal))
      backend.bus.onSignal((signal) => second?.push(signal))
      const signals: MasterSignal[] = [
        { kind: 'wake', type: TYPE },
        { kind: 'config_changed', ref: ref('w'), conn: 'm1/1', gen: 3 },
        { kind: 'drain', ref: ref('w'), conn: 'm1/1' },
        { kind: 'replaced', ref: ref('w'), conn: 'm1/1' },
      ]
      for (const signal of signals) await backend.bus.signal('m1', signal)
      expect(first).toEqual(signals)
      end()
      end()
      await backend.bus.signal('m1', { kind: 'wake', type: TYPE })
      expect(first).toHaveLength(4)
      expect(second).toHaveLength(5)
    })
  })

  describe(`${name} backend: events`, () => {
    const open = storeFixtures(create)
    const event = (n: number): NewEvent => ({ name: 'worker.state', scope: TYPE, data: `{"n":${n}}` })
    const events = (from: number, count: number): NewEvent[] => Array.from({ length: count }, (_, i) => event(from + i))
    const read = async (backend: Backend, after: string, limit = 100): Promise<readonly LoggedEvent[]> => {
      const got = await backend.events.read(after, limit)
      if (got.kind === 'reset') throw new Error('the point was expected to be there')
      return got.events
    }

    it('delivers appended events in order to listeners and to readers that continue from an id (G10)', async () => {
      const { backend } = await open()
      const received: LoggedEvent[] = []
      const end = backend.events.onAppend((some) => received.push(...some))
      await backend.events.append(events(0, 3))
      await backend.events.append([])
      await backend.events.append(events(3, 1))
      end()
      await backend.events.append(events(4, 1))
      expect(received.map(({ name: event_, scope, data }) => ({ name: event_, scope, data }))).toEqual(events(0, 4))
      expect(new Set(ids(received)).size).toBe(4)
      const second = received[1]?.id ?? ''
      expect((await read(backend, second)).slice(0, 2)).toEqual(received.slice(2))
      expect(await read(backend, second, 2)).toEqual(received.slice(2))
      expect(await read(backend, (await read(backend, second)).at(-1)?.id ?? '')).toEqual([])
    })

    it('returns the id from which listeners receive every event, also before the first event (G10)', async () => {
      const { backend } = await open()
      const begun = backend.events.newest()
      const received: LoggedEvent[] = []
      backend.events.onAppend((some) => {
        received.push(...some)
        expect(backend.events.newest()).toBe(some.at(-1)?.id)
      })
      expect(await read(backend, begun)).toEqual([])
      await backend.events.append(events(0, 3))
      await backend.events.append(events(3, 1))
      expect(await read(backend, begun)).toEqual(received)
      expect(await read(backend, backend.events.newest())).toEqual([])
    })

    it('returns reset when the event id was trimmed or is unknown (D31)', async () => {
      const { backend } = await open()
      const received: string[] = []
      backend.events.onAppend((some) => received.push(...ids(some)))
      for (let i = 0; i < 11; i += 1) await backend.events.append(events(i * 1000, 1000))
      expect(await backend.events.read(received[998] ?? '', 1)).toEqual({ kind: 'reset' })
      expect((await read(backend, received[999] ?? '', 1)).map(({ data }) => data)).toEqual(['{"n":1000}'])
      expect(await read(backend, received[999] ?? '', 10_000)).toHaveLength(10_000)
      for (const unknown of ['nonsense', '-', '0', `${received[10_999] ?? ''}9`, '__proto__'])
        expect(await backend.events.read(unknown, 1)).toEqual({ kind: 'reset' })
    })

    it('keeps at most 16 MiB of events, and always the newest one (D84)', async () => {
      const { backend } = await open()
      const received: string[] = []
      backend.events.onAppend((some) => received.push(...ids(some)))
      const large = (bytes: number): NewEvent => ({ ...event(0), data: JSON.stringify('x'.repeat(bytes)) })
      for (let i = 0; i < 20; i += 1) await backend.events.append([large(1_048_576)])
      expect(await backend.events.read(received[3] ?? '', 1)).toEqual({ kind: 'reset' })
      expect(await read(backend, received[4] ?? '')).toHaveLength(15)
      await backend.events.append([large(17 * 1_048_576)])
      expect(await read(backend, received[19] ?? '')).toHaveLength(1)
      expect(await backend.events.read(received[18] ?? '', 1)).toEqual({ kind: 'reset' })
      await backend.events.append(events(0, 3))
      expect(await read(backend, received[20] ?? '')).toHaveLength(3)
    })

    it('keeps changes that were recorded together in one entry, and resumes behind each (G10, D135)', async () => {
      const { backend } = await open()
      const received: LoggedEvent[] = []
      backend.events.onAppend((some) => received.push(...some))
      const batch = { ...event(1), more: [event(2).data, event(3).data] }
      await backend.events.append([event(0), batch])
      await backend.events.append([event(4), { ...event(5), more: [event(6).data] }])
      expect(received).toMatchObject([event(0), batch, event(4), { ...event(5), more: [event(6).data] }])
      const all = received.flatMap(eventsIn)
      expect(all.map(({ data }) => data)).toEqual(events(0, 7).map(({ data }) => data))
      expect(new Set(all.map(({ id }) => id)).size).toBe(7)
      for (const [at, { id }] of all.entries())
        expect((await read(backend, id)).flatMap(eventsIn)).toEqual(all.slice(at + 1))
      const [single = '', entry = ''] = ids(received)
      expect(ids(await read(backend, `${entry}.1`, 2))).toEqual(ids(received).slice(1, 3))
      for (const id of [
        `${single}.1`,
        ...['.0', '.3', '.999', '.9999', '.01', '.', '.x', '.1.1', '.1 '].map((end) => entry + end),
      ])
        expect([id, await backend.events.read(id, 1)]).toEqual([id, { kind: 'reset' }])
    })

    it('counts an entry with 500 changes as one, and its bytes in full (D84, D135)', async () => {
      const { backend } = await open()
      const received: string[] = []
      backend.events.onAppend((some) => received.push(...ids(some)))
      const full: NewEvent = { ...event(0), more: events(1, 499).map(({ data }) => data) }
      for (let i = 0; i < 40; i += 1) await backend.events.append([full])
      for (let i = 0; i < 10; i += 1) await backend.events.append(events(i * 1000, 1000).slice(0, i === 9 ? 960 : 1000))
      expect((await read(backend, `${received[0] ?? ''}.499`, 1)).flatMap(eventsIn)).toHaveLength(1)
      await backend.events.append([event(0)])
      expect(await backend.events.read(`${received[0] ?? ''}.499`, 1)).toEqual({ kind: 'reset' })
      expect(await read(backend, received[0] ?? '', 1)).toHaveLength(1)
      const large: NewEvent = { ...event(0), more: [JSON.stringify('x'.repeat(1_048_576))] }
      for (let i = 0; i < 16; i += 1) await backend.events.append([large])
      expect(await read(backend, received[0] ?? '', 1).catch(() => 'reset')).toBe('reset')
    })

    it('returns reset after a restart of a backend that only one master can use', async () => {
      const { backend } = await open()
      const received: string[] = []
      backend.events.onAppend((some) => received.push(...ids(some)))
      await backend.events.append(events(0, 2))
      await reopen(backend)
      await backend.events.append(events(2, 2))
      if (!backend.capabilities.shared)
        expect(await backend.events.read(received[0] ?? '', 1)).toEqual({ kind: 'reset' })
      expect(new Set(received).size).toBe(4)
    })
  })
}
