import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { statsText } from '../../../src/master/registry/index.ts'
import { HARDWARE, registerFrame, RegistryFixture, type Detail } from './fixture.ts'

let fixture: RegistryFixture
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(() => fixture.close())

const ids = (records: readonly Record<string, unknown>[]): unknown[] => records.map((record) => record['worker_id'])
const list = (query = ''): Promise<Record<string, unknown>[]> => fixture.get<Record<string, unknown>[]>(query)

describe('a worker record', () => {
  it('contains every field, also before the first state and statistics (D3, D8)', async () => {
    await fixture.record('w1')
    const now = fixture.time.wallMs() / 1_000
    expect(await fixture.get('/w1')).toEqual({
      worker_id: 'w1',
      automation_type: 'mailer',
      hardware: HARDWARE,
      config: { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0, interval: 5 },
      config_gen: 0,
      state: 'IDLE',
      last_seen: now,
      last_error: null,
      current_stats: null,
      connected: expect.any(Boolean),
      registered_at: now,
      applied_config_gen: null,
      draining: false,
      ended: false,
      drain_requested_at: null,
      drain_requested_by: null,
      departure: null,
      managed_by: null,
      state_since: now,
      config_changed_at: null,
      config_changed_by: null,
      config_revision: null,
      labels: {},
      tasks_held: null,
      refused_config_gen: null,
    })
  })

  it('contains the labels of the newest register, with view=summary too (D136)', async () => {
    const labels = { zone: 'eu-1', 'example.com/tier': '' }
    const client = fixture.connect('w1')
    await client.opened
    client.send(registerFrame('w1', { labels }))
    await client.settled()
    expect(await fixture.get('/w1')).toMatchObject({ labels })
    expect(await list('?view=summary')).toMatchObject([{ labels }])
    await fixture.worker('w1')
    expect((await fixture.get('/w1'))['labels']).toEqual({})
  })

  it('contains state, applied generation and statistics as last reported', async () => {
    const worker = await fixture.worker('w1')
    worker.send({ type: 'stats', slots: 2, cpu_pct: 12.5, rss_mb: 90, ts: 5, metrics: { 'counter.sent': 3 } })
    worker.send({ type: 'state', state: 'ERROR', config_gen: 0, ts: 5, last_error: 'no route' })
    await worker.settled()
    expect(await fixture.get('/w1')).toMatchObject({
      state: 'ERROR',
      last_error: 'no route',
      applied_config_gen: 0,
      connected: true,
      current_stats: { slots: 2, cpu_pct: 12.5, rss_mb: 90, ts: 5, metrics: { 'counter.sent': 3 }, per_slot: [] },
    })
  })

  it('contains the held tasks and the refused generation of the newest statistics, in both views (D137)', async () => {
    const worker = await fixture.worker('w1')
    const shown = async (metrics: object, per_slot: object[] = []): Promise<unknown> => {
      worker.send({ type: 'stats', slots: 1, cpu_pct: 1, rss_mb: 90, ts: 5, metrics, per_slot })
      await worker.settled()
      await fixture.time.advance(1_000) // Statistics are stored once per second.
      const [{ tasks_held: held, refused_config_gen: refused } = {}] = await list('?view=summary')
      expect(await fixture.get('/w1')).toMatchObject({ tasks_held: held, refused_config_gen: refused })
      return [held, refused]
    }
    expect(await shown({ 'gauge.muster.tasks_held': 3, 'gauge.muster.refused_config_gen': 12 })).toEqual([3, 12])
    expect(await shown({ 'gauge.muster.tasks_held': 0 })).toEqual([0, null])
    for (const odd of [-1, 1.5, 1e300, '3', null, [3], {}])
      expect(await shown({ 'gauge.muster.tasks_held': odd })).toEqual([null, null])
    expect(await shown({ note: '"gauge.muster.tasks_held":7,' })).toEqual([null, null])
    expect(await shown({})).toEqual([null, null])
  })

  it('stores no buckets of durations, and every other metric as it was sent (D137)', async () => {
    const worker = await fixture.worker('w1')
    const kept = '"counter.sent":3,"__proto__":1,"counter.muster.runs_ok":2'
    const metrics = `{"counter.muster.run_ms_le.7":1,${kept},"counter.muster.run_ms_le.40":1}`
    worker.socket.send(`{"type":"stats","slots":1,"cpu_pct":1,"rss_mb":90,"ts":5,"metrics":${metrics}}`)
    await worker.settled()
    expect((await fixture.call('GET', '/w1/stats')).text).toContain(`"metrics":{${kept}}`)
    expect((await fixture.call('GET', '/w1')).text).toContain(`"metrics":{${kept}}`)
  })

  it('is shortened by view=summary (D47)', async () => {
    const worker = await fixture.worker('w1')
    worker.send({
      type: 'stats',
      slots: 2,
      cpu_pct: 1,
      rss_mb: 90,
      ts: 5,
      metrics: { 'counter.sent': 3 },
      per_slot: [{ slot_id: 0, age_seconds: 1, counters: {} }],
    })
    await worker.settled()
    const summary = {
      hardware: { hostname: 'node-7' },
      config: { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 },
      current_stats: { slots: 2, cpu_pct: 1, rss_mb: 90, ts: 5 },
    }
    const one = await fixture.get('/w1?view=summary')
    expect({ hardware: one['hardware'], config: one['config'], current_stats: one['current_stats'] }).toEqual(summary)
    expect(await list('?view=summary')).toMatchObject([summary])
    expect((await fixture.call('GET', '/w1?view=poster')).status).toBe(422)
  })

  it('returns 404 for an unknown worker (D7)', async () => {
    expect((await fixture.call('GET', '/ghost')).status).toBe(404)
  })
})

describe('the workers list', () => {
  it('is ordered by id and contains only its type', async () => {
    for (const id of ['b', 'a', 'c', 'Z', '\u00e9']) await fixture.record(id)
    await fixture.record('other', 'elsewhere/2', 'feed')
    expect(ids(await list())).toEqual(['Z', 'a', 'b', 'c', '\u00e9'])
  })

  it('is empty, not an error, without workers', async () => {
    expect(await list()).toEqual([])
  })

  it('filters by state and connection before it applies `limit`, and after `after` (D40)', async () => {
    const running = await fixture.worker('w2')
    running.send({ type: 'state', state: 'RUNNING', config_gen: 0, ts: 1, last_error: null })
    await running.settled()
    await fixture.worker('w4')
    for (const id of ['w1', 'w3', 'w5']) {
      await fixture.record(id, 'm1/99')
      await fixture.deps.backend.workers.disconnect([{ type: 'mailer', id, conn: 'm1/99' }])
    }
    expect(ids(await list('?state=RUNNING'))).toEqual(['w2'])
    expect(ids(await list('?connected=true'))).toEqual(['w2', 'w4'])
    expect(ids(await list('?connected=false&limit=2'))).toEqual(['w1', 'w3'])
    expect(ids(await list('?connected=false&limit=2&after=w3'))).toEqual(['w5'])
    expect(ids(await list('?state=IDLE&connected=true'))).toEqual(['w4'])
    expect(ids(await list('?after=w4'))).toEqual(['w5'])
    expect(ids(await list('?limit=1&after=w1'))).toEqual(['w2'])
  })

  it.each(['limit=0', 'limit=10001', 'limit=1.5', 'state=ASLEEP', 'connected=maybe'])(
    'refuses %s and names the field (D9)',
    async (query) => {
      const reply = await fixture.call('GET', `?${query}`)
      expect(reply.status).toBe(422)
      expect((reply.json as { detail: Detail }).detail[0]?.path).toBe(`/${query.split('=')[0]}`)
    },
  )

  it('reads all pages of the store', async () => {
    const defaults = JSON.stringify(fixture.deps.catalog.get('mailer')?.defaults)
    const all = Array.from({ length: 2_500 }, (_, index) => `w${String(index).padStart(5, '0')}`)
    for (let from = 0; from < all.length; from += 500) {
      await fixture.deps.backend.workers.register(
        all.slice(from, from + 500).map((id) => ({
          type: 'mailer',
          id,
          conn: `m1/${id}`,
          instance: '',
          hardware: JSON.stringify(HARDWARE),
          defaults,
        })),
      )
    }
    expect(ids(await list())).toEqual(all)
    expect(ids(await list('?limit=1500'))).toEqual(all.slice(0, 1_500))
    expect(ids(await list('?limit=10000&after=w02400'))).toEqual(all.slice(2_401))
    expect(await list('?state=ERROR')).toEqual([])
    expect(ids(await list('?state=IDLE&limit=2&after=w00998'))).toEqual(all.slice(999, 1_001))
  })
})

describe('statistics', () => {
  const push = async (frames: readonly number[]): Promise<void> => {
    const stats = frames.map((ts) => statsText({ slots: 1, cpu_pct: 0, rss_mb: 0, ts, metrics: { 'gauge.x': ts } }))
    await fixture.deps.backend.workers.beat([{ type: 'mailer', id: 'w1', conn: 'm1/7', stats }])
  }
  const times = async (query = ''): Promise<unknown[]> =>
    (await fixture.get<{ ts: number }[]>(`/w1/stats${query}`)).map(({ ts }) => ts)
  beforeEach(() => fixture.record('w1', 'm1/7'))

  it('come oldest first; a limit keeps the newest (D10)', async () => {
    await push([1, 2, 3, 4])
    expect(await times()).toEqual([1, 2, 3, 4])
    expect(await times('?limit=2')).toEqual([3, 4])
    expect(await times('?since=2')).toEqual([2, 3, 4])
    expect(await times('?since=2&limit=1')).toEqual([4])
  })

  it('keep 240 frames', async () => {
    await push(Array.from({ length: 250 }, (_, index) => index))
    expect(await times('?limit=10000')).toEqual(Array.from({ length: 240 }, (_, index) => index + 10))
  })

  it('are stored with the three numbers for /metrics first, so that a scrape need not parse long frames', () => {
    expect(statsText({ slots: 4, cpu_pct: 1e-7, rss_mb: 80, ts: 5, metrics: { 'gauge.x': 1 } })).toBe(
      '{"slots":4,"cpu_pct":1e-7,"rss_mb":80,"ts":5,"per_slot":[],"metrics":{"gauge.x":1}}',
    )
  })

  it('always contain per_slot, also when the stored frame lacks it (D10)', async () => {
    await push([1])
    await fixture.deps.backend.workers.beat([
      { type: 'mailer', id: 'w1', conn: 'm1/7', stats: ['{"slots":1,"cpu_pct":0,"rss_mb":0,"ts":2,"metrics":{}}'] },
    ])
    expect(await fixture.get('/w1/stats')).toMatchObject([
      { ts: 1, per_slot: [] },
      { ts: 2, per_slot: [], metrics: {} },
    ])
  })

  it('omit metrics and per_slot in view=summary (D47)', async () => {
    await push([1])
    expect(await fixture.get('/w1/stats?view=summary')).toEqual([{ slots: 1, cpu_pct: 0, rss_mb: 0, ts: 1 }])
  })

  it('return 404 for an unknown worker, and 422 for a query out of range (D7, D9)', async () => {
    expect((await fixture.call('GET', '/ghost/stats')).status).toBe(404)
    for (const query of ['since=-1', 'since=soon', 'limit=0'])
      expect((await fixture.call('GET', `/w1/stats?${query}`)).status).toBe(422)
  })
})

describe('drain', () => {
  it('marks the record, notifies the queue and publishes an event (D6)', async () => {
    await fixture.record('w1')
    const reply = await fixture.call('POST', '/w1/drain')
    expect(reply.json).toEqual({ worker_id: 'w1', drain: 'requested' })
    expect(await fixture.get('/w1')).toMatchObject({ state: 'DRAINING', draining: true })
    expect(fixture.drains).toEqual([{ type: 'mailer', id: 'w1' }])
    expect((await fixture.events()).at(-1)).toMatchObject({
      name: 'worker.draining',
      data: { type: 'mailer', worker_id: 'w1', state: 'DRAINING' },
    })
  })

  it('returns 404 for an unknown worker (D7)', async () => {
    expect((await fixture.call('POST', '/ghost/drain')).status).toBe(404)
    expect(fixture.drains).toEqual([])
  })
})

describe('DELETE of a worker', () => {
  it('removes the record once', async () => {
    await fixture.record('w1')
    expect((await fixture.call('DELETE', '/w1')).json).toEqual({ worker_id: 'w1', removed: true })
    expect((await fixture.call('GET', '/w1')).status).toBe(404)
    expect((await fixture.call('DELETE', '/w1')).status).toBe(404)
    expect((await fixture.events()).at(-1)).toMatchObject({ name: 'worker.forgotten', data: { worker_id: 'w1' } })
  })

  it('keeps the generation: a returning worker has the defaults at the last generation plus one (D46)', async () => {
    await fixture.record('w1')
    await fixture.patch('w1', { slots: 8 })
    await fixture.patch('w1', { slots: 9 })
    await fixture.call('DELETE', '/w1')
    await fixture.record('w1')
    expect(await fixture.get('/w1')).toMatchObject({ config_gen: 3, config: { slots: 1 } })
  })
})
