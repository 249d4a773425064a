/** Information about the automations and about the master. */
import { expect, it } from '@jest/globals'
import { ADMIN, API, EVERY, onEachStore, SCHEMAS, SCOPED, WORKER, type Json } from './fixture.ts'

onEachStore('discovery', (open) => {
  it(
    'automation/type, automation/class, automation/kind, automation/config_schema, route/automations, D36b: ' +
      'lists the installed automations',
    async () => {
      const { status, body } = await (await open()).call('GET', `${API}/automations`)
      expect(status).toBe(200)
      expect(body.map(({ type, class: name, kind }: Json) => ({ type, class: name, kind }))).toEqual(
        expect.arrayContaining([
          { type: 'mailer', class: 'Mailer', kind: 'BatchAutomation' },
          { type: 'brief', class: 'Brief', kind: 'BatchAutomation' },
          { type: 'probe', class: 'Prober', kind: 'ContinuousAutomation' },
        ]),
      )
      const mailer = body.find(({ type }: Json) => type === 'mailer')
      expect(mailer.config_schema).toMatchObject({ type: 'object', properties: { host: { type: 'string' } } })
    },
  )

  it(
    'config/enabled, config/slots, config/max_attempts, config/recycle_seconds, limits/slots, D4a: ' +
      'includes the four base fields in every Config schema',
    async () => {
      const fixture = await open()
      const { body } = await fixture.call('GET', `${API}/automations`)
      for (const {
        config_schema: { properties },
      } of body as Json[]) {
        expect(properties).toMatchObject({
          enabled: { type: 'boolean', default: false },
          slots: { type: 'integer', minimum: 0, maximum: 1_024, default: 1 },
          max_attempts: { type: 'integer', minimum: 1, maximum: 1_000, default: 3 },
          recycle_seconds: { type: 'number', minimum: 0, default: 0 },
        })
      }
      const probe = body.find(({ type }: Json) => type === 'probe')
      expect(Object.keys(probe.config_schema.properties).toSorted()).toEqual([
        'enabled',
        'max_attempts',
        'recycle_seconds',
        'slots',
      ])
    },
  )

  it('catalog/type, catalog/kind, catalog/config, route/catalog: maps each type to its entry', async () => {
    const { status, body } = await (await open()).call('GET', `${API}/catalog`)
    expect(status).toBe(200)
    expect(Object.keys(body).toSorted()).toEqual(['brief', 'mailer', 'probe'])
    expect(body.probe).toMatchObject({ type: 'probe', kind: 'ContinuousAutomation', config: { type: 'object' } })
  })

  it(
    'catalog/queue, catalog/stream, catalog/pools, route/catalog-entry, about/declares-schemas: ' +
      'shows declared parts and omits the others',
    async () => {
      const fixture = await open()
      const mailer = await fixture.call('GET', `${API}/catalog/mailer`)
      expect(mailer.body).toMatchObject({
        queue: { payload: SCHEMAS.payload },
        stream: { payload: SCHEMAS.output },
        pools: { accounts: { payload: SCHEMAS.pool, tags: SCHEMAS.tags } },
      })
      expect([typeof mailer.body.queue.name, typeof mailer.body.stream.name]).toEqual(['string', 'string'])
      const probe = await fixture.call('GET', `${API}/catalog/probe`)
      expect(probe.body).not.toHaveProperty('queue')
      expect(probe.body).not.toHaveProperty('pools')
      const brief = await fixture.call('GET', `${API}/catalog/brief`)
      expect(brief.body).not.toHaveProperty('stream')
      expect((await fixture.call('GET', `${API}/catalog/nowhere`)).status).toBe(404)
    },
  )

  it('route/healthz, D45a: returns ok while the master runs', async () => {
    const { status, body } = await (await open()).call('GET', '/healthz', { token: null })
    expect([status, body]).toEqual([200, { status: 'ok' }])
  })

  it('D32a: is ready when the backend is available and the catalog is built', async () => {
    const { status, body } = await (await open()).call('GET', '/readyz', { token: null })
    expect([status, body]).toEqual([200, { status: 'ready', parts: { backend: true, catalog: true, serving: true } }])
  })

  it('D32b, D56e: describes every route, without a token', async () => {
    const fixture = await open()
    const { status, body } = await fixture.call('GET', `${API}/openapi.json`, { token: null })
    expect(status).toBe(200)
    expect(body.openapi).toMatch(/^3\./)
    for (const route of fixture.routes.filter((each) => each.includes(` ${API}/`))) {
      const [method = '', path = ''] = route.split(' ')
      expect(Object.keys(body.paths[path] ?? {})).toContain(method.toLowerCase())
    }
  })

  it('D32c, D61g: returns what each token may do', async () => {
    const fixture = await open()
    const me = async (token: string): Promise<Json> => (await fixture.call('GET', `${API}/me`, { token })).body
    expect(await me(ADMIN)).toMatchObject({ role: 'admin', automations: ['*'] })
    expect(await me(WORKER)).toMatchObject({ role: 'worker' })
    expect(await me(SCOPED)).toMatchObject({ role: 'scoped', automations: ['mailer'] })
    expect(await me(EVERY)).toMatchObject({ role: 'scoped', automations: ['*'] })
  })

  it('D47a, D59a: sends the epoch and a request id with every response, including rejections', async () => {
    const fixture = await open()
    const responses = [
      await fixture.call('GET', `${API}/automations`),
      await fixture.call('GET', `${API}/automations`, { token: null }),
      await fixture.call('GET', `${API}/nowhere`),
    ]
    expect(new Set(responses.map(({ headers }) => headers.get('muster-epoch'))).size).toBe(1)
    expect(responses[0]?.headers.get('muster-epoch')).toMatch(/./)
    const ids = [...responses, await fixture.call('GET', '/healthz')].map(({ headers }) =>
      headers.get('muster-request-id'),
    )
    expect(ids.every((id) => id !== null && id !== '')).toBe(true)
    expect(new Set(ids).size).toBe(4)
  })

  it('endpoint/json, endpoint/version-prefix: responds with JSON, except the page and the metrics', async () => {
    const fixture = await open()
    const typeOf = async (path: string): Promise<string | null> =>
      (await fixture.call('GET', path)).headers.get('content-type')
    for (const path of ['/healthz', `${API}/automations`, `${API}/catalog`, `${API}/nowhere`])
      expect(await typeOf(path)).toMatch(/^application\/json/)
    expect(await typeOf('/metrics')).toMatch(/^text\/plain/)
    expect(fixture.routes.filter((route) => !route.includes(` ${API}/`)).toSorted()).toEqual([
      'GET /',
      'GET /assets/{file}',
      'GET /healthz',
      'GET /metrics',
      'GET /readyz',
    ])
  })
})
