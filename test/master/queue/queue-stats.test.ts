import { afterEach, describe, expect, it } from '@jest/globals'
import type { QueueSample } from '../../../src/protocol/index.ts'
import type { TestMaster } from '../../kit/running-master.ts'
import { onEachStore } from '../stores.ts'
import { UNAVAILABLE, settled, QueueFixture } from './fixture.ts'
import { Watched } from './watched.ts'

const STATS = '/automations/mailer/queue/stats'
const EVERY_MS = 15_000
const BEAT_MS = 5_000

describe('queue/stats', () => {
  let fixture: QueueFixture
  const store = new Watched()
  afterEach(() => fixture.close())
  const open = async (): Promise<void> => {
    store.failure = () => undefined
    fixture = await QueueFixture.open({ backend: store.wrap })
    await settled(fixture)
  }
  const stats = async (query = '', type = 'mailer'): Promise<readonly QueueSample[]> =>
    (await fixture.call('GET', `/automations/${type}/queue/stats${query}`)).json as readonly QueueSample[]

  it('takes a sample at start and every 15 s, oldest first, with the running totals (D48)', async () => {
    await open()
    const start = fixture.time.wallMs() / 1_000
    const empty = {
      high: 0,
      normal: 0,
      low: 0,
      in_flight: 0,
      scheduled: 0,
      dead: 0,
      submitted: 0,
      acked: 0,
      nacked: 0,
      died: 0,
    }
    expect(await stats()).toEqual([{ ts: start, ...empty }])
    await fixture.workers(['w'])
    for (const [priority, count] of [
      [1, 1],
      [0, 2],
      [-1, 3],
    ] as const)
      for (let n = 0; n < count; n += 1) await fixture.submit('a@b', { priority })
    const leases = await fixture.take('w', 4)
    const settle = (at: number) => ({ task_id: leases[at]?.task_id ?? '', token: leases[at]?.token ?? 0 })
    await fixture.rpc('w', 'tasks.ack', { tasks: [settle(0)] })
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [
        { ...settle(1), error: 'later', retry_in_ms: 3_600_000 },
        { ...settle(2), error: 'never', permanent: true },
      ],
    })
    await fixture.time.advance(EVERY_MS)
    expect(await stats()).toEqual([
      { ts: start, ...empty },
      {
        ts: start + 15,
        high: 0,
        normal: 0,
        low: 2,
        in_flight: 1,
        scheduled: 1,
        dead: 1,
        submitted: 6,
        acked: 1,
        nacked: 2,
        died: 1,
      },
    ])
  })

  it('returns the last 240 samples', async () => {
    await open()
    const start = fixture.time.wallMs() / 1_000
    await fixture.time.advance(300 * EVERY_MS)
    const kept = await stats('?limit=10000')
    expect([kept.length, kept[0]?.ts, kept.at(-1)?.ts]).toEqual([240, start + 61 * 15, start + 300 * 15])
  })

  it('returns the samples from `since` on, and the newest `limit` of them', async () => {
    await open()
    const start = fixture.time.wallMs() / 1_000
    await fixture.time.advance(4 * EVERY_MS)
    expect((await stats(`?since=${start + 30}`)).map(({ ts }) => ts - start)).toEqual([30, 45, 60])
    expect((await stats('?limit=2')).map(({ ts }) => ts - start)).toEqual([45, 60])
    expect(await stats(`?since=${start + 61}`)).toEqual([])
    expect(await stats('?since=1e308')).toEqual([])
  })

  it.each(['since=-1', 'since=x', 'since=1e400', 'limit=0', 'limit=10001', 'limit=1.5', 'limit=1&limit=2'])(
    'refuses %s and names the parameter (D9)',
    async (query) => {
      await open()
      const { status, json } = await fixture.call('GET', `${STATS}?${query}`)
      expect([status, (json as { detail: { path: string }[] }).detail[0]?.path]).toEqual([
        422,
        `/${query.split('=')[0]}`,
      ])
    },
  )

  it('returns nothing for an automation without a queue', async () => {
    await open()
    expect(await stats('', 'feed')).toEqual([])
  })

  it('has a gap while the store is unavailable, logs it once a minute, and queries a slow store once', async () => {
    await open()
    const start = fixture.time.wallMs() / 1_000
    store.failure = (name) => (name === 'tasks.counts' ? UNAVAILABLE : undefined)
    await fixture.time.advance(3 * EVERY_MS)
    expect(fixture.log.lines.filter(({ message }) => message.startsWith('failed to count the queues'))).toHaveLength(1)
    store.failure = () => undefined
    await fixture.time.advance(EVERY_MS)
    expect((await stats()).map(({ ts }) => ts - start)).toEqual([0, 60])
    let release = (): void => {}
    const held = new Promise<void>((resolve) => void (release = resolve))
    store.gate = (name) => (name === 'tasks.counts' ? held : undefined)
    const before = store.named('tasks.counts').length
    await fixture.time.advance(4 * EVERY_MS)
    expect(store.named('tasks.counts')).toHaveLength(before + 1)
    store.gate = () => undefined
    release()
    await fixture.time.advance(EVERY_MS)
    expect(await stats()).toHaveLength(4)
  })
})

onEachStore('queue/stats', (open) => {
  const PATH = `/api/v1${STATS}`

  /** Reads until there are `count` samples: a store on its own thread or server takes a moment. */
  async function sampled(master: TestMaster, count: number): Promise<readonly QueueSample[]> {
    for (;;) {
      const samples = (await master.call('GET', PATH)).json as readonly QueueSample[]
      if (samples.length >= count) return samples
    }
  }

  it('counts the tasks in the store', async () => {
    const { master, advance } = await open()
    await sampled(master, 1)
    await master.call('POST', '/api/v1/automations/mailer/tasks/batch', {
      body: { tasks: [1, 0, 0, -1].map((priority) => ({ payload: { to: 'x' }, priority })) },
    })
    // Each call waits for the heartbeat that was sent before it, without which the master does not sample.
    for (let passed = 0; passed < EVERY_MS; passed += BEAT_MS) {
      await advance(BEAT_MS)
      await master.call('GET', PATH)
    }
    const [first, second] = await sampled(master, 2)
    expect(first).toMatchObject({ high: 0, submitted: 0 })
    expect(second).toMatchObject({
      high: 1,
      normal: 2,
      low: 1,
      in_flight: 0,
      scheduled: 0,
      dead: 0,
      submitted: 4,
      acked: 0,
      nacked: 0,
      died: 0,
    })
    expect((second?.ts ?? 0) - (first?.ts ?? 0)).toBe(15)
  })
})
