/** Rejections: statuses and bodies that apply to every route. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, type ConformanceFixture } from './fixture.ts'

const TASKS = `${API}/automations/mailer/tasks`
const GOOD = { payload: { to: 'x' } }

onEachStore('errors', (open) => {
  const submit = (fixture: ConformanceFixture, body: unknown, headers: Record<string, string> = {}) =>
    fixture.call('POST', TASKS, { body, headers })

  it('error/detail, D14b: contains the single field detail, a sentence unless fields are invalid', async () => {
    const fixture = await open({ maxBodyBytes: 4_096 })
    const responses = [
      await fixture.call('GET', `${API}/automations`, { token: null }),
      await fixture.call('GET', `${API}/automations`, { token: 'wrong' }),
      await fixture.call('GET', `${API}/automations/mailer/workers/unknown`),
      await fixture.call('PUT', TASKS, { body: {} }),
      await submit(fixture, '{'),
      await submit(fixture, { payload: { to: 'x'.repeat(5_000) } }),
      await submit(fixture, 'x', { 'content-type': 'text/plain' }),
      await fixture.call('POST', `${API}/automations/probe/tasks`, { body: GOOD }),
      await submit(fixture, { payload: {} }),
    ]
    expect(responses.map(({ status, body }) => [status, Object.keys(body), typeof body.detail])).toEqual([
      [401, ['detail'], 'string'],
      [403, ['detail'], 'string'],
      [404, ['detail'], 'string'],
      [405, ['detail'], 'string'],
      [400, ['detail'], 'string'],
      [413, ['detail'], 'string'],
      [415, ['detail'], 'string'],
      [400, ['detail'], 'string'],
      [422, ['detail'], 'object'],
    ])
  })

  it('D14c: is 400 for a body that is not JSON or not an object', async () => {
    const fixture = await open()
    for (const body of ['{', '[]', '7', '"x"', 'null'])
      expect([body, (await submit(fixture, body)).status]).toEqual([body, 400])
  })

  it('D14d: is 413 above the maximum body size', async () => {
    const fixture = await open()
    expect((await submit(fixture, { payload: { to: 'x'.repeat(1_048_576) } })).status).toBe(413)
    expect((await submit(fixture, { payload: { to: 'x'.repeat(1_000_000) } })).status).toBe(200)
  })

  it('D14e: is 405 with Allow for a known path with another method', async () => {
    const fixture = await open()
    const { status, headers } = await fixture.call('PUT', `${API}/automations/mailer/dead`, { body: {} })
    expect([
      status,
      headers
        .get('allow')
        ?.split(', ')
        .filter((verb) => verb !== 'HEAD')
        .toSorted(),
    ]).toEqual([405, ['DELETE', 'GET']])
  })

  it('D14f, endpoint/json-bodies: is 415 for a body that is not JSON', async () => {
    const fixture = await open()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      expect((await submit(fixture, JSON.stringify(GOOD), { 'content-type': type })).status).toBe(415)
  })

  it('D9a, D9b: is 422 naming the field for an n that is no integer of 1..10000', async () => {
    const fixture = await open()
    for (const n of ['0', '-1', '1.5', '10001', 'x', '']) {
      for (const path of ['mailer/output/peek', 'mailer/queue', 'mailer/dead']) {
        const { status, body } = await fixture.call('GET', `${API}/automations/${path}?n=${n}`)
        expect([path, n, status, body.detail?.[0]?.path]).toEqual([path, n, 422, '/n'])
      }
      expect((await fixture.call('GET', `${API}/pools/accounts?n=${n}`)).status).toBe(422)
    }
    for (const n of [0, -1, 1.5, 10_001, 'x', true]) {
      for (const path of ['mailer/output/pop', 'mailer/dead/replay']) {
        const { status, body } = await fixture.call('POST', `${API}/automations/${path}`, { body: { n } })
        expect([path, n, status, body.detail?.[0]?.path]).toEqual([path, n, 422, '/n'])
      }
    }
    expect((await fixture.call('GET', `${API}/automations/mailer/queue?n=10000`)).status).toBe(200)
  })

  it('D41: uses only snake_case', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    worker.stats()
    await fixture.submit({})
    await fixture.patch('w-1', { slots: 2 })
    const keys = new Set<string>()
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, inner] of Object.entries(value)) {
        if (!Array.isArray(value)) keys.add(key)
        collect(inner)
      }
    }
    for (const path of [
      '/mailer/workers',
      '/mailer/workers/w-1',
      '/mailer/workers/w-1/stats',
      '/mailer/workers/w-1/config/history',
      '/mailer/queue',
      '/mailer/dead',
    ])
      collect(await fixture.ok('GET', path))
    expect(keys.size).toBeGreaterThan(20)
    expect([...keys].filter((key) => /[A-Z]/.test(key))).toEqual([])
  })
})
