import { afterEach, describe, expect, it } from '@jest/globals'
import type { Backend } from '../../../src/storage/index.ts'
import { settled, QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
afterEach(() => fixture.close())

/** Adds a bus to the memory backend, which has none between processes. */
function withBus(real: Backend, subscribed = async (): Promise<void> => undefined): Backend {
  const listeners = new Map<string, Set<(data: string) => void>>()
  const bus: Backend['bus'] = {
    publish: async (messages) => {
      for (const { topic, data } of messages) for (const on of listeners.get(topic) ?? []) on(data)
    },
    subscribe: async (topic, on) => {
      const own = listeners.get(topic) ?? new Set()
      listeners.set(topic, own.add(on))
      await subscribed()
      return () => void own.delete(on)
    },
    signal: async () => {},
    passWake: async () => {},
    onSignal: () => () => {},
  }
  return new Proxy(real, {
    get: (target, key: string) => {
      const value: unknown = key === 'bus' ? bus : Reflect.get(target, key)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

const BUS = '/automations/mailer/workers/w/bus'

describe('publishing', () => {
  it('succeeds, also when the backend has no bus', async () => {
    fixture = await QueueFixture.open()
    expect(await fixture.rpc('w', 'bus.publish', { topic: 'orders', message: { a: 1 } })).toEqual({})
  })

  it('is rejected on the topics of outputs, which are reserved for the master (S13)', async () => {
    fixture = await QueueFixture.open()
    for (const topic of ['mailer.emit', 'feed.emit', 'another-type.emit', 'event:mailer.emit']) {
      expect((await fixture.tryRpc('w', 'bus.publish', { topic, message: 1 })).error).toMatchObject({
        code: -32_602,
        data: { errors: [{ path: '/topic' }] },
      })
    }
    await fixture.rpc('w', 'bus.publish', { topic: 'my.emit.too', message: 1 })
  })

  it('is refused above 64 KiB of JSON', async () => {
    fixture = await QueueFixture.open()
    await fixture.rpc('w', 'bus.publish', { topic: 't', message: 'x'.repeat(65_534) })
    expect((await fixture.tryRpc('w', 'bus.publish', { topic: 't', message: 'x'.repeat(65_535) })).error).toMatchObject(
      {
        data: { errors: [{ path: '/message' }] },
      },
    )
  })
})

describe('listening', () => {
  it('receives what is published on its topics while it listens, one event per line', async () => {
    fixture = await QueueFixture.open({ backend: withBus })
    const client = new AbortController()
    const { chunks, ended } = await fixture.stream(`${BUS}?topic=orders&topic=a%20b&topic=orders`, client.signal)
    await settled(fixture)
    await fixture.rpc('v', 'bus.publish', { topic: 'orders', message: { text: 'one\ntwo' } })
    await fixture.rpc('v', 'bus.publish', { topic: 'other', message: 1 })
    await fixture.rpc('v', 'bus.publish', { topic: 'a b', message: null })
    expect(chunks.slice(1)).toEqual([
      'data: {"topic":"orders","message":{"text":"one\\ntwo"}}\n\n',
      'data: {"topic":"a b","message":null}\n\n',
    ])
    client.abort()
    await ended
    await fixture.rpc('v', 'bus.publish', { topic: 'orders', message: 2 })
    expect(chunks).toHaveLength(3)
  })

  it('treats a topic with and without the prefix `event:` as the same, and returns the requested name', async () => {
    fixture = await QueueFixture.open({ backend: withBus })
    const client = new AbortController()
    const { chunks, ended } = await fixture.stream(`${BUS}?topic=orders&topic=event:orders&topic=event:`, client.signal)
    await settled(fixture)
    await fixture.rpc('v', 'bus.publish', { topic: 'orders', message: 1 })
    await fixture.rpc('v', 'bus.publish', { topic: 'event:orders', message: 2 })
    await fixture.rpc('v', 'bus.publish', { topic: 'event:', message: 3 }) // The prefix alone is a topic name.
    expect(chunks.slice(1).map((chunk) => JSON.parse(chunk.slice('data: '.length)) as unknown)).toEqual([
      { topic: 'orders', message: 1 },
      { topic: 'event:orders', message: 1 },
      { topic: 'orders', message: 2 },
      { topic: 'event:orders', message: 2 },
      { topic: 'event:', message: 3 },
    ])
    client.abort()
    await ended
  })

  it('confirms the subscription when it is active, not before', async () => {
    let subscribed = (): void => undefined
    fixture = await QueueFixture.open({
      backend: (real) => withBus(real, () => new Promise((resolve) => void (subscribed = resolve))),
    })
    const client = new AbortController()
    const { chunks, ended } = await fixture.stream(`${BUS}?topic=orders`, client.signal)
    await settled(fixture)
    expect(chunks).toEqual([])
    subscribed()
    await settled(fixture)
    expect(chunks).toEqual([': listening\n\n'])
    client.abort()
    await ended
  })

  it('receives a keep-alive every 15 s, also without a bus', async () => {
    fixture = await QueueFixture.open()
    const client = new AbortController()
    const { chunks, ended } = await fixture.stream(`${BUS}?topic=orders`, client.signal)
    await fixture.rpc('v', 'bus.publish', { topic: 'orders', message: 1 })
    await fixture.time.advance(45_000)
    expect(chunks).toHaveLength(4)
    expect(chunks.every((chunk) => chunk.startsWith(':') && chunk.endsWith('\n\n'))).toBe(true)
    const timers = fixture.time.pending
    client.abort()
    await ended
    expect(fixture.time.pending).toBe(timers - 1)
  })

  it('ends for a reader that is a megabyte behind (G17)', async () => {
    fixture = await QueueFixture.open({ backend: withBus })
    const { chunks, ended } = await fixture.stream(`${BUS}?topic=t`, new AbortController().signal, () => false)
    await settled(fixture)
    const outcome = expect(ended).rejects.toMatchObject({ code: 'OVERLOADED' })
    for (let sent = 0; sent < 40; sent += 1)
      await fixture.rpc('v', 'bus.publish', { topic: 't', message: 'x'.repeat(60_000) })
    await outcome
    expect(chunks.length).toBeLessThan(20)
  })

  it('accepts 1 to 64 topics', async () => {
    fixture = await QueueFixture.open()
    const topics = (count: number): string => Array.from({ length: count }, (_, at) => `topic=t${at}`).join('&')
    for (const query of ['', topics(65), 'topic=', `topic=${'x'.repeat(257)}`])
      expect((await fixture.call('GET', `${BUS}?${query}`)).status).toBe(422)
    expect((await fixture.call('GET', `${BUS}?${topics(64)}`)).status).toBe(200)
  })
})
