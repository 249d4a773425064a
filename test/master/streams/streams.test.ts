import { afterEach, describe, expect, it } from '@jest/globals'
import type { Output } from '../../../src/protocol/index.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import { UNAVAILABLE, entryOf, settled, QueueFixture, type QueueFixtureOptions } from '../queue/fixture.ts'
import { Watched } from '../queue/watched.ts'

let fixture: QueueFixture
const open = async (options: QueueFixtureOptions = {}): Promise<QueueFixture> =>
  (fixture = await QueueFixture.open(options))
afterEach(() => fixture.close())

const output = (sent: number, ts = 1.5): Output => ({ slot_id: 2, ts, payload: { sent } })
const many = (count: number, from = 0): Output[] => Array.from({ length: count }, (_, at) => output(from + at))
const peeked = async (n = 10_000): Promise<number[]> =>
  ((await fixture.call('GET', `/automations/mailer/output/peek?n=${n}`)).json as { payload: { sent: number } }[]).map(
    ({ payload }) => payload.sent,
  )

describe('outputs', () => {
  it('are stored in the order of their arrival, with slot, time and an id', async () => {
    await open()
    fixture.streams.accept('mailer', 'w', [output(1), output(2)])
    fixture.streams.accept('mailer', 'v', [output(3, 0.25)])
    await settled(fixture)
    const { json } = await fixture.call('GET', '/automations/mailer/output/peek')
    expect(json).toMatchObject([
      { payload: { sent: 1 } },
      { payload: { sent: 2 } },
      { id: expect.any(String), slot_id: 2, ts: 0.25, worker_id: 'v', payload: { sent: 3 } },
    ])
  })

  it('of one tick are pushed together, at most 1,000 per push, one push at a time (G10)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    for (let from = 0; from < 2_500; from += 100) fixture.streams.accept('mailer', 'w', many(100, from))
    await settled(fixture)
    expect(
      store.named('streams.push').map(([, producer, seq, entries]) => [producer, seq, (entries as unknown[]).length]),
    ).toEqual([
      ['m1', 1, 1_000],
      ['m1', 2, 1_000],
      ['m1', 3, 500],
    ])
    expect(await peeked()).toEqual(many(2_500).map((_, at) => at))
  })

  it('are pushed in pieces of up to 1 MiB, and a larger output alone', async () => {
    const store = new Watched()
    await open({ backend: store.wrap, entries: [entryOf('mailer', { validateOutput: () => [] })] })
    const large = (chars: number): Output => ({ slot_id: 0, ts: 1, payload: { text: 'x'.repeat(chars) } })
    fixture.streams.accept('mailer', 'w', [large(600_000), large(600_000), large(1_100_000), large(10), large(10)])
    await settled(fixture)
    expect(store.named('streams.push').map(([, , , entries]) => (entries as unknown[]).length)).toEqual([1, 1, 1, 2])
  })

  it('that violate their schema are dropped, counted, logged once a minute per worker; others stay (D37)', async () => {
    await open()
    const bad: Output = { slot_id: 0, ts: 1, payload: { sent: 'no' } }
    for (let round = 0; round < 3; round += 1) fixture.streams.accept('mailer', 'w', [bad, output(round)])
    fixture.streams.accept('mailer', 'v', [bad])
    await fixture.time.advance(60_000)
    fixture.streams.accept('mailer', 'w', [bad])
    await settled(fixture)
    expect(await peeked()).toEqual([0, 1, 2])
    expect(await fixture.metric('svc_outputs_dropped_total')).toMatch(/reason="invalid"\} 5$/)
    const lines = fixture.log.lines.filter(({ level }) => level === 'warn')
    expect(lines.map(({ fields }) => [fields['worker_id'], fields['more_since_last_line']])).toEqual([
      ['w', 0],
      ['v', 0],
      ['w', 2],
    ])
    expect(lines[0]?.fields['why']).toContain('/sent')
  })

  it('wait for an unavailable store, and are then stored once and in order (G10)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'streams.push' ? UNAVAILABLE : undefined)
    fixture.streams.accept('mailer', 'w', many(3))
    await fixture.time.advance(5_000)
    fixture.streams.accept('mailer', 'w', many(2, 3))
    store.failure = () => undefined
    await fixture.time.advance(2_000)
    expect(await peeked()).toEqual([0, 1, 2, 3, 4])
    expect(new Set(store.named('streams.push').map(([, , seq]) => seq))).toEqual(new Set([1, 2]))
  })

  it('are not duplicated when the store took them but its response was lost (G10)', async () => {
    await open({
      backend: (real) => {
        let lost = false
        const push: typeof real.streams.push = async (...args) => {
          const answer = await real.streams.push(...args)
          if (lost) return answer
          lost = true
          throw new FleetError('STORAGE_UNAVAILABLE', 'no response', { outcome: 'unknown' })
        }
        const streams = new Proxy(real.streams, {
          get: (target, key: string) =>
            key === 'push' ? push : (Reflect.get(target, key) as () => unknown).bind(target),
        })
        return new Proxy(real, {
          get: (target, key: string) => {
            const value: unknown = key === 'streams' ? streams : Reflect.get(target, key)
            return typeof value === 'function' ? (value as () => unknown).bind(target) : value
          },
        })
      },
    })
    fixture.streams.accept('mailer', 'w', many(3))
    await fixture.time.advance(1_000)
    expect(await peeked()).toEqual([0, 1, 2])
  })

  it('are dropped and counted when the store is full, and later ones are accepted', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'streams.push' ? new FleetError('STORAGE_FULL', 'no space') : undefined)
    fixture.streams.accept('mailer', 'w', many(3))
    await settled(fixture)
    store.failure = () => undefined
    fixture.streams.accept('mailer', 'w', many(1, 7))
    await settled(fixture)
    expect(await peeked()).toEqual([7])
    expect(await fixture.metric('svc_outputs_dropped_total')).toMatch(/reason="store_full"\} 3$/)
  })

  it('that are trimmed at the limit are counted', async () => {
    await open()
    for (let from = 0; from < 51_000; from += 1_000) fixture.streams.accept('mailer', 'w', many(1_000, from))
    await settled(fixture)
    expect((await fixture.call('GET', '/automations/mailer/output/length')).json).toEqual({ length: 50_000 })
    expect(await fixture.metric('svc_outputs_trimmed_total')).toMatch(/ 1000$/)
    expect((await peeked(1))[0]).toBe(1_000)
  })

  it('that still wait at shutdown are stored if the store accepts them', async () => {
    await open()
    fixture.streams.accept('mailer', 'w', many(5))
    await fixture.streams.stop?.()
    expect(await peeked()).toEqual([0, 1, 2, 3, 4])
  })

  it('are dropped and counted at shutdown after 5 s without a store', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'streams.push' ? UNAVAILABLE : undefined)
    fixture.streams.accept('mailer', 'w', many(5))
    const stopped = fixture.streams.stop?.()
    await fixture.time.advance(5_000)
    await stopped
    expect(await fixture.metric('svc_outputs_dropped_total')).toMatch(/reason="shutdown"\} 5$/)
    store.failure = () => undefined
  })
})

describe('back-pressure', () => {
  /** An output of 1 MiB. */
  const large: Output = { slot_id: 0, ts: 1, payload: { text: 'x'.repeat(1_048_576) } }
  const anything = { validateOutput: () => [] as [] }

  it('starts at 20,000 outputs or 8 MiB of a type, and ends at half of that (G17)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap, entries: [entryOf('mailer', anything), entryOf('other', anything)] })
    let relieved = 0
    const stop = fixture.streams.onRelief(() => (relieved += 1))
    store.failure = (name) => (name === 'streams.push' ? UNAVAILABLE : undefined)
    fixture.streams.accept('mailer', 'w', many(19_999))
    await settled(fixture)
    expect(fixture.streams.full('mailer')).toBe(false)
    fixture.streams.accept('mailer', 'w', many(2_000))
    for (let mib = 0; mib < 8; mib += 1) fixture.streams.accept('other', 'w', [large])
    await settled(fixture)
    expect([fixture.streams.full('mailer'), fixture.streams.full('other')]).toEqual([true, true])
    expect(relieved).toBe(0)
    store.failure = () => undefined
    await fixture.time.advance(3_000)
    expect([fixture.streams.full('mailer'), fixture.streams.full('other'), relieved]).toEqual([false, false, 2])
    stop()
  })

  it('applies to every type from 64 MiB in total, and drops nothing below twice that (G17)', async () => {
    const store = new Watched()
    const types = Array.from({ length: 10 }, (_, at) => `t${at}`)
    await open({
      backend: store.wrap,
      entries: [...types.map((type) => entryOf(type, anything)), entryOf('idle', anything)],
    })
    store.failure = (name) => (name === 'streams.push' ? UNAVAILABLE : undefined)
    for (const type of types) for (let mib = 0; mib < 7; mib += 1) fixture.streams.accept(type, 'w', [large])
    await settled(fixture)
    expect(fixture.streams.full('idle')).toBe(true)
    expect(await fixture.metric('svc_outputs_dropped_total')).toBeUndefined()
    for (const type of types) for (let mib = 0; mib < 7; mib += 1) fixture.streams.accept(type, 'w', [large])
    expect(await fixture.metric('svc_outputs_dropped_total')).toContain('reason="overload"')
    store.failure = () => undefined
    await fixture.time.advance(3_000)
    expect(fixture.streams.full('idle')).toBe(false)
  })
})

describe('reading a stream', () => {
  it('returns the oldest 10 without n, and removes nothing (D9)', async () => {
    await open()
    fixture.streams.accept('mailer', 'w', many(12))
    await settled(fixture)
    for (let round = 0; round < 2; round += 1)
      expect((await fixture.call('GET', '/automations/mailer/output/peek')).json).toHaveLength(10)
    expect((await fixture.call('GET', '/automations/mailer/output/length')).json).toEqual({ length: 12 })
  })

  it('pops the oldest, 10 without n, and returns an empty list when there is nothing', async () => {
    await open()
    fixture.streams.accept('mailer', 'w', many(13))
    await settled(fixture)
    const pop = async (body: object): Promise<unknown[]> =>
      (
        (await fixture.call('POST', '/automations/mailer/output/pop', { body })).json as { payload: { sent: number } }[]
      ).map(({ payload }) => payload.sent)
    expect(await pop({ n: 2 })).toEqual([0, 1])
    expect(await pop({})).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(await pop({ n: 10_000 })).toEqual([12])
    expect(await pop({})).toEqual([])
  })

  it.each([0, 1.5, -1, 10_001, '5'])('refuses n = %j (D9)', async (n) => {
    await open()
    const { status, json } = await fixture.call('POST', '/automations/mailer/output/pop', { body: { n } })
    expect(status).toBe(422)
    expect((json as { detail: { path: string }[] }).detail[0]?.path).toBe('/n')
    expect((await fixture.call('GET', `/automations/mailer/output/peek?n=${String(n)}`)).status).toBe(
      n === '5' ? 200 : 422,
    )
  })

  it('tails the newest outputs, then those after an id, and reports a gap (D50)', async () => {
    await open()
    fixture.streams.accept('mailer', 'w', many(5))
    await settled(fixture)
    const tail = async (
      query: string,
    ): Promise<{ entries: { id: string; payload: { sent: number } }[]; gap: boolean }> =>
      (await fixture.call('GET', `/automations/mailer/output/tail?${query}`)).json as never
    const newest = await tail('n=2')
    expect(newest).toMatchObject({ entries: [{ payload: { sent: 3 } }, { payload: { sent: 4 } }], gap: false })
    const [first, last] = newest.entries.map(({ id }) => id)
    fixture.streams.accept('mailer', 'w', many(2, 5))
    await settled(fixture)
    expect(await tail(`after=${last}`)).toMatchObject({
      entries: [{ payload: { sent: 5 } }, { payload: { sent: 6 } }],
      gap: false,
    })
    await fixture.call('POST', '/automations/mailer/output/pop', { body: { n: 6 } })
    expect(await tail(`after=${first}`)).toMatchObject({ entries: [{ payload: { sent: 6 } }], gap: true })
  })
})
