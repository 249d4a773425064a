/** The configuration of a worker: PATCH, poll, generations, secrets, history. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SCOPED, WORKER, type Json, type ConformanceFixture } from './fixture.ts'

const PATH = `${API}/automations/mailer/workers/w-1/config`
const MASK = '********'

onEachStore('config', (open) => {
  const withWorker = async () => {
    const fixture = await open()
    return { fixture, worker: await fixture.worker('w-1') }
  }
  const poll = (fixture: ConformanceFixture, headers: Record<string, string> = {}) =>
    fixture.call('GET', PATH, { token: WORKER, headers })
  const patch = (fixture: ConformanceFixture, body: unknown, headers: Record<string, string> = {}) =>
    fixture.call('PATCH', PATH, { body, headers })

  it('patch/shallow, route/patch, D13d: merges only top-level fields', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { limits: { a: 1, b: 2 }, host: 'one' })
    expect(await fixture.patch('w-1', { limits: { c: 3 }, slots: 5 })).toEqual({
      config: { enabled: false, slots: 5, max_attempts: 3, recycle_seconds: 0, host: 'one', limits: { c: 3 } },
      config_gen: 2,
    })
    expect(await fixture.record('w-1')).toMatchObject({
      config: { host: 'one', limits: { c: 3 }, slots: 5 },
      config_gen: 2,
    })
  })

  it(
    'patch/invalid, config/json-object, error/422-config, D14a: ' +
      'rejects an invalid config with all its faults, and changes nothing',
    async () => {
      const { fixture, worker } = await withWorker()
      const { status, body } = await patch(fixture, { slots: 'many', host: 7, colour: 'red', enabled: true })
      expect(status).toBe(422)
      expect(body.detail.map(({ path }: Json) => path).toSorted()).toEqual(['/colour', '/host', '/slots'])
      for (const fault of body.detail)
        expect(fault).toEqual({
          path: expect.any(String),
          message: expect.any(String),
          keyword: expect.any(String),
          params: expect.any(Object),
        })
      expect(await fixture.record('w-1')).toMatchObject({ config: { enabled: false }, config_gen: 0 })
      await worker.received()
      expect(worker.frames).toEqual([])
    },
  )

  it('config/slots-bound, config/bounds: enforces the bounds of the base fields', async () => {
    const { fixture } = await withWorker()
    for (const good of [
      { slots: 0 },
      { slots: 1_024 },
      { max_attempts: 1 },
      { max_attempts: 1_000 },
      { recycle_seconds: 0 },
      { recycle_seconds: 0.5 },
      { enabled: true },
    ])
      expect([good, (await patch(fixture, good)).status]).toEqual([good, 200])
    for (const bad of [
      { slots: 1_025 },
      { slots: -1 },
      { slots: 1.5 },
      { max_attempts: 0 },
      { max_attempts: 1_001 },
      { recycle_seconds: -1 },
      { enabled: 1 },
    ])
      expect([bad, (await patch(fixture, bad)).status]).toEqual([bad, 422])
  })

  it(
    'patch/notifies, frame/config_changed, generation/increments, D16: ' +
      'increments the generation with every success and notifies the worker',
    async () => {
      const { fixture, worker } = await withWorker()
      expect(await fixture.patch('w-1', { slots: 2 })).toMatchObject({ config_gen: 1 })
      expect(await worker.next('config_changed')).toEqual({ type: 'config_changed', config_gen: 1 })
      expect(await fixture.patch('w-1', { slots: 2 })).toMatchObject({ config_gen: 2 })
      expect(await worker.next('config_changed')).toEqual({ type: 'config_changed', config_gen: 2 })
    },
  )

  it('route/poll: returns the config and generation of a worker', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { slots: 2 })
    expect((await poll(fixture)).body).toEqual({
      config: { enabled: false, slots: 2, max_attempts: 3, recycle_seconds: 0, host: 'localhost' },
      config_gen: 1,
    })
  })

  it('D13a, D13b: treats null as the default or as removal, but keeps it where the schema accepts null', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { slots: 7, limits: {}, note: 'x' })
    const { config } = await fixture.patch('w-1', { slots: null, limits: null, note: null })
    expect(config).toMatchObject({ slots: 1, note: null })
    expect(config).not.toHaveProperty('limits')
  })

  it('D13c: rejects forbidden keys at every depth', async () => {
    const { fixture } = await withWorker()
    for (const body of [
      '{"__proto__":{"slots":2}}',
      '{"limits":{"constructor":1}}',
      '{"limits":{"a":[{"prototype":1}]}}',
    ])
      expect([body, (await patch(fixture, body)).status]).toEqual([body, 422])
    expect(await fixture.record('w-1')).toMatchObject({ config_gen: 0 })
  })

  it('D15a, D15b, D15c: identifies each generation by an ETag for If-Match and If-None-Match', async () => {
    const { fixture } = await withWorker()
    const first = await poll(fixture)
    const [etag, epoch] = [first.headers.get('etag') ?? '', first.headers.get('muster-epoch')]
    expect(etag).toBe(`"${epoch}.0"`)
    expect((await poll(fixture, { 'if-none-match': etag })).status).toBe(304)
    const changed = await patch(fixture, { slots: 2 }, { 'if-match': etag })
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, `"${epoch}.1"`])
    expect((await patch(fixture, { slots: 3 }, { 'if-match': etag })).status).toBe(412)
    expect((await poll(fixture, { 'if-none-match': etag })).body).toMatchObject({ config: { slots: 2 }, config_gen: 1 })
  })

  it('generation/after-loss, D46a, D46c: raises its generation above that of a poll in the same epoch', async () => {
    const { fixture } = await withWorker()
    const { headers } = await poll(fixture)
    const answer = await poll(fixture, { 'if-none-match': `"${headers.get('muster-epoch')}.41"` })
    expect([answer.status, answer.body.config_gen > 41, answer.body.config]).toEqual([
      200,
      true,
      (await fixture.record('w-1')).config,
    ])
  })

  it('D17a, D17b, D17d, D61f: shows a secret only to its worker, and keeps it when the mask is sent back', async () => {
    const { fixture } = await withWorker()
    expect(await fixture.patch('w-1', { password: 'hunter2' })).toMatchObject({ config: { password: MASK } })
    expect(await fixture.patch('w-1', { password: MASK, slots: 3 })).toMatchObject({
      config: { password: MASK, slots: 3 },
    })
    for (const path of ['/mailer/workers', '/mailer/workers/w-1', '/mailer/workers/w-1/config/history'])
      expect(JSON.stringify(await fixture.ok('GET', path))).not.toContain('hunter2')
    expect((await poll(fixture)).body.config).toMatchObject({ password: 'hunter2', slots: 3 })
  })

  it('D17c: shows a secret neither in an error nor in the log', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { password: 'hunter2' })
    const { status, text } = await patch(fixture, { password: 'ab1', slots: -1 })
    expect([status, text.includes('ab1')]).toEqual([422, false])
    expect(JSON.stringify(fixture.lines)).not.toMatch(/hunter2|ab1/)
  })

  it('D52a, D52b: masks secrets inside objects by path, and fields with secrets in arrays completely', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { smtp: { user: 'me', pin: '4711' }, keys: ['k-1'] })
    expect((await fixture.record('w-1')).config).toMatchObject({ smtp: { user: 'me', pin: MASK }, keys: MASK })
    await fixture.patch('w-1', { smtp: { user: 'you', pin: MASK }, keys: MASK })
    expect((await poll(fixture)).body.config).toMatchObject({ smtp: { user: 'you', pin: '4711' }, keys: ['k-1'] })
  })

  it('D18: loses none of many concurrent PATCHes, each with its own generation', async () => {
    const { fixture } = await withWorker()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => fixture.patch('w-1', i % 2 === 0 ? { slots: i } : { recycle_seconds: i })),
    )
    expect(responses.map(({ config_gen: gen }: Json) => gen).toSorted((a: number, b: number) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
    const last = responses.find(({ config_gen: gen }: Json) => gen === 20)
    expect(last.config.slots % 2).toBe(0)
    expect(last.config.recycle_seconds % 2).toBe(1)
  })

  it('D39a, D39b, D39c: returns who changed what, newest first', async () => {
    const { fixture } = await withWorker()
    await fixture.patch('w-1', { slots: 2, password: 'hunter2' })
    await fixture.time.advance(1_000)
    await fixture.call('PATCH', PATH, { token: SCOPED, body: { host: 'two' }, headers: { 'muster-actor': 'deploy/7' } })
    const rows = await fixture.ok('GET', '/mailer/workers/w-1/config/history')
    expect(rows).toMatchObject([
      { config_gen: 2, ts: fixture.now, changed: ['host'], config: { host: 'two', password: MASK } },
      { config_gen: 1, ts: fixture.now - 1, actor: 'admin', changed: expect.arrayContaining(['slots', 'password']) },
    ])
    expect(rows[0].actor).toMatch(/^scoped.*deploy\/7/)
    expect(await fixture.ok('GET', '/mailer/workers/w-1/config/history?limit=1')).toHaveLength(1)
    expect(await fixture.record('w-1')).toMatchObject({
      config_changed_at: fixture.now,
      config_changed_by: rows[0].actor,
    })
  })
})
