/** The registry: records, states, statistics, drain and forget. */
import { expect, it } from '@jest/globals'
import {
  API,
  eventuallyMatches,
  HARDWARE,
  onEachStore,
  OTHER,
  WORKER,
  type Json,
  type ConformanceFixture,
} from './fixture.ts'
import { eventually } from '../kit/index.ts'

const STATS = {
  slots: 3,
  cpu_pct: 12.5,
  rss_mb: 80.25,
  metrics: { 'counter.sent': 7, 'gauge.open': 2, 'histogram.ms.p95': 9 },
}
const history = (fixture: ConformanceFixture, query = ''): Promise<Json[]> =>
  fixture.ok('GET', `/mailer/workers/w-1/stats${query}`)

onEachStore('workers', (open) => {
  it(
    'worker/worker_id, worker/automation_type, worker/hardware, worker/config, worker/config_gen, ' +
      'worker/state, worker/last_seen, worker/last_error, worker/current_stats, route/worker, frame/register, ' +
      'registry/unknown-register, D3a, D4b, D8, D61e: ' +
      'has every field immediately after register',
    async () => {
      const fixture = await open()
      await fixture.worker('w-1')
      expect(await fixture.record('w-1')).toMatchObject({
        worker_id: 'w-1',
        automation_type: 'mailer',
        hardware: HARDWARE,
        config: { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0, host: 'localhost' },
        config_gen: 0,
        state: 'IDLE',
        last_seen: fixture.now,
        last_error: null,
        current_stats: null,
        connected: true,
        registered_at: fixture.now,
        applied_config_gen: null,
        draining: false,
        managed_by: null,
      })
      expect(await fixture.status('GET', '/mailer/workers/w-2')).toBe(404)
    },
  )

  it('route/workers, registry/indices: lists the workers of one type', async () => {
    const fixture = await open()
    expect(await fixture.ok('GET', '/mailer/workers')).toEqual([])
    for (const id of ['w-2', 'w-1']) await fixture.worker(id)
    await fixture.worker('p-1', { type: 'probe' })
    expect((await fixture.ok('GET', '/mailer/workers')).map(({ worker_id: id }: Json) => id)).toEqual(['w-1', 'w-2'])
    expect((await fixture.ok('GET', '/probe/workers'))[0]).toEqual(await fixture.record('p-1', 'probe'))
  })

  it(
    'state/reported, frame/state, worker-state/IDLE, worker-state/RUNNING, worker-state/ERROR: ' +
      'stores state, last_seen and last_error of a state frame',
    async () => {
      const fixture = await open()
      const worker = await fixture.worker('w-1')
      for (const [state, error] of [
        ['RUNNING', null],
        ['ERROR', 'no route to host'],
        ['IDLE', null],
      ] as const) {
        await fixture.time.advance(1_500)
        worker.state({ state, last_error: error, config_gen: 0 })
        await eventuallyMatches(() => fixture.record('w-1'), {
          state,
          last_error: error,
          last_seen: fixture.now,
          applied_config_gen: 0,
          state_since: fixture.now,
        })
      }
    },
  )

  it('D47b: returns since when a worker is in its state, unchanged by a repeated frame', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    worker.state()
    const { state_since: since } = await eventuallyMatches(() => fixture.record('w-1'), { state: 'RUNNING' })
    await fixture.time.advance(3_000)
    worker.state()
    expect(await eventuallyMatches(() => fixture.record('w-1'), { last_seen: fixture.now })).toMatchObject({
      state_since: since,
    })
  })

  it(
    'registry/again, D3b, D5: ' +
      'keeps state and config at a second register and updates the hardware, with or without an instance',
    async () => {
      const fixture = await open()
      const worker = await fixture.worker('w-1')
      worker.state()
      await fixture.patch('w-1', { slots: 4 })
      await eventuallyMatches(() => fixture.record('w-1'), { state: 'RUNNING' })
      const hardware = { ...HARDWARE, cores: 16 }
      for (const more of [{}, { instance_id: 'one' }]) {
        await fixture.worker('w-1', { hardware, ...more })
        expect(await fixture.record('w-1')).toMatchObject({
          hardware,
          state: 'RUNNING',
          config: { slots: 4 },
          config_gen: 1,
          connected: true,
        })
      }
      expect(await fixture.ok('GET', '/mailer/workers')).toHaveLength(1)
    },
  )

  it('registry/never-removed: keeps listing a disconnected worker', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    const { last_seen: seen } = await fixture.record('w-1')
    worker.socket.terminate()
    await eventuallyMatches(() => fixture.record('w-1'), { connected: false })
    await fixture.pass(120_000, 30_000)
    expect(await fixture.ok('GET', '/mailer/workers')).toMatchObject([
      { worker_id: 'w-1', connected: false, last_seen: seen },
    ])
  })

  it('registry/forget, route/forget, D46b: forgets a worker, which returns above its last generation', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    await fixture.patch('w-1', { slots: 9 })
    expect(await fixture.ok('DELETE', '/mailer/workers/w-1')).toEqual({ worker_id: 'w-1', removed: true })
    expect(await fixture.status('GET', '/mailer/workers/w-1')).toBe(404)
    expect(await fixture.status('DELETE', '/mailer/workers/w-1')).toBe(404)
    worker.socket.terminate()
    await fixture.worker('w-1')
    expect(await fixture.record('w-1')).toMatchObject({
      config_gen: 2,
      config: { slots: 1, enabled: false },
      state: 'IDLE',
    })
  })

  it('state/drain, route/drain, worker-state/DRAINING, D6a: sends a drain to the worker; shows DRAINING', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    expect(await fixture.ok('POST', '/mailer/workers/w-1/drain')).toEqual({ worker_id: 'w-1', drain: 'requested' })
    expect(await worker.next('drain')).toEqual({ type: 'drain' })
    expect(await fixture.record('w-1')).toMatchObject({ state: 'DRAINING', draining: true })
    await fixture.submit({})
    expect(await fixture.reserve('w-1')).toEqual([])
  })

  it(
    'state/draining-until-gone, D6c, D6d, D3c: ' +
      'stays DRAINING despite state frames of that process, until another process registers',
    async () => {
      const fixture = await open()
      const worker = await fixture.worker('w-1', { instance_id: 'one' })
      await fixture.ok('POST', '/mailer/workers/w-1/drain')
      worker.state({ state: 'RUNNING', last_error: 'late' })
      expect(await eventuallyMatches(() => fixture.record('w-1'), { last_error: 'late' })).toMatchObject({
        state: 'DRAINING',
      })
      const again = await fixture.worker('w-1', { instance_id: 'one' })
      expect(await again.next('drain')).toEqual({ type: 'drain' })
      expect(await fixture.record('w-1')).toMatchObject({ state: 'DRAINING' })
      await fixture.worker('w-1', { instance_id: 'two' })
      expect(await fixture.record('w-1')).toMatchObject({ state: 'IDLE', draining: false })
    },
  )

  it('D6b, D61h: keeps a drain for a disconnected worker', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1', { instance_id: 'one' })
    worker.socket.terminate()
    await eventuallyMatches(() => fixture.record('w-1'), { connected: false })
    expect(await fixture.ok('POST', '/mailer/workers/w-1/drain')).toMatchObject({ drain: 'requested' })
    expect(await (await fixture.worker('w-1', { instance_id: 'two' })).next('drain')).toEqual({ type: 'drain' })
    expect(await fixture.record('w-1')).toMatchObject({ state: 'DRAINING' })
  })

  it(
    'stats/slots, stats/cpu_pct, stats/rss_mb, stats/ts, stats/metrics, stats/per_slot, frame/stats, ' +
      'route/stats, D10c, D10d, D55c: ' +
      'stores each frame as current and in the history',
    async () => {
      const fixture = await open()
      const worker = await fixture.worker('w-1')
      const slot = { slot_id: 1, age_seconds: 12.5, counters: { 'counter.sent': 7 } }
      worker.stats({ ...STATS, ts: 100 })
      worker.stats({ ...STATS, ts: 101.5, per_slot: [slot] })
      await eventuallyMatches(() => fixture.record('w-1'), { current_stats: { ...STATS, ts: 101.5, per_slot: [slot] } })
      expect(await history(fixture)).toEqual([
        { ...STATS, ts: 100, per_slot: [] },
        { ...STATS, ts: 101.5, per_slot: [slot] },
      ])
    },
  )

  it('stats/since-limit, D10a, D10b, D9c: returns the frames since a time, oldest first, up to a limit', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    for (let ts = 1; ts <= 5; ts += 1) worker.stats({ ts })
    await eventually(async () => (await history(fixture)).length === 5)
    const of = async (query: string): Promise<number[]> => (await history(fixture, query)).map(({ ts }: Json) => ts)
    expect([await of('?since=3'), await of('?limit=2'), await of('?since=2&limit=3'), await of('?since=2.5')]).toEqual([
      [3, 4, 5],
      [4, 5],
      [3, 4, 5],
      [3, 4, 5],
    ])
    for (const query of ['?since=-1', '?since=x', '?limit=0', '?limit=10001', '?limit=1.5'])
      expect([query, await fixture.status('GET', `/mailer/workers/w-1/stats${query}`)]).toEqual([query, 422])
  })

  it('stats/ring, limits/stats-history, limits/stats-limit: keeps 240 frames', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    for (let ts = 1; ts <= 250; ts += 1) worker.stats({ ts })
    await eventually(async () => (await fixture.record('w-1')).current_stats?.ts === 250)
    const times = (await history(fixture, '?limit=10000')).map(({ ts }: Json) => ts)
    expect([times.length, times[0], times.at(-1)]).toEqual([240, 11, 250])
    expect(await history(fixture)).toHaveLength(240)
  })

  it('D40: filters and pages the list in the order of worker ids', async () => {
    const fixture = await open()
    for (const id of ['w-1', 'w-2', 'w-3'])
      (await fixture.worker(id)).state({ state: id === 'w-2' ? 'ERROR' : 'RUNNING' })
    await eventually(async () => (await fixture.ok('GET', '/mailer/workers?state=RUNNING')).length === 2)
    const of = async (query: string): Promise<string[]> =>
      (await fixture.ok('GET', `/mailer/workers?${query}`)).map(({ worker_id: id }: Json) => id)
    expect([
      await of('state=ERROR'),
      await of('connected=true&limit=1'),
      await of('after=w-1'),
      await of('connected=false'),
    ]).toEqual([['w-2'], ['w-1'], ['w-2', 'w-3'], []])
    for (const query of ['state=ASLEEP', 'limit=0', 'limit=10001', 'connected=maybe'])
      expect([query, await fixture.status('GET', `/mailer/workers?${query}`)]).toEqual([query, 422])
  })

  it('D47c: shortens records and statistics with view=summary', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    worker.stats({ ...STATS, ts: 5 })
    await eventually(async () => (await history(fixture)).length === 1)
    const [record] = await fixture.ok('GET', '/mailer/workers?view=summary')
    expect(record).toMatchObject({
      config: { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 },
      hardware: { hostname: 'node-7' },
    })
    expect([Object.keys(record.config).length, Object.keys(record.hardware)]).toEqual([4, ['hostname']])
    expect(record.current_stats).toEqual({ slots: 3, cpu_pct: 12.5, rss_mb: 80.25, ts: 5 })
    expect(await history(fixture, '?view=summary')).toEqual([{ slots: 3, cpu_pct: 12.5, rss_mb: 80.25, ts: 5 }])
  })

  it('error/404-worker, D7b, D7c: is 404 for a worker that is not registered', async () => {
    const fixture = await open()
    const statuses = [
      await fixture.status('GET', '/mailer/workers/unknown'),
      await fixture.status('DELETE', '/mailer/workers/unknown'),
      await fixture.status('PATCH', '/mailer/workers/unknown/config', {}),
      await fixture.status('POST', '/mailer/workers/unknown/drain'),
      await fixture.status('GET', '/mailer/workers/unknown/stats'),
      await fixture.status('GET', '/mailer/workers/unknown/config', undefined, { token: WORKER }),
    ]
    expect(statuses).toEqual([404, 404, 404, 404, 404, 404])
  })

  it('error/404-type, D7a, D56d: is 404 for an unknown type, and 403 for a type not covered by the token', async () => {
    const fixture = await open()
    const routes: readonly [string, string, unknown?][] = [
      ['GET', '/workers'],
      ['GET', '/workers/w'],
      ['DELETE', '/workers/w'],
      ['PATCH', '/workers/w/config', {}],
      ['GET', '/workers/w/stats'],
      ['POST', '/workers/w/drain'],
      ['GET', '/workers/w/config/history'],
      ['GET', '/output/length'],
      ['GET', '/output/peek'],
      ['POST', '/output/pop', {}],
      ['GET', '/output/tail'],
      ['POST', '/tasks', { payload: {} }],
      ['POST', '/tasks/batch', { tasks: [{}] }],
      ['GET', '/tasks/t'],
      ['GET', '/queue'],
      ['GET', '/dead'],
      ['DELETE', '/dead'],
      ['POST', '/dead/replay', {}],
    ]
    for (const [method, path, body] of routes) {
      expect([
        method,
        path,
        await fixture.status(method, `/nowhere${path}`, body),
        await fixture.status(method, `/nowhere${path}`, body, { token: OTHER }),
      ]).toEqual([method, path, 404, 403])
    }
    expect((await fixture.call('GET', `${API}/catalog/nowhere`)).status).toBe(404)
  })
})
