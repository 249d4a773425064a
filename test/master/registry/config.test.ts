import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Backend, ConfigPut } from '../../../src/storage/index.ts'
import { RegistryFixture, WORKER_TOKEN, type Detail, type RegistryResponse } from './fixture.ts'

const MASK = '********'
const CANARY = 'canary-7f3a91'

let fixture: RegistryFixture
beforeEach(async () => {
  fixture = await RegistryFixture.open()
  await fixture.record('w1')
})
afterEach(() => fixture.close())

const poll = (headers: Record<string, string> = {}, id = 'w1'): Promise<RegistryResponse> =>
  fixture.call('GET', `/${id}/config`, { token: WORKER_TOKEN, headers })
const configOf = (reply: RegistryResponse): Record<string, unknown> =>
  (reply.json as { config: Record<string, unknown> }).config
const detailOf = (reply: RegistryResponse): Detail => (reply.json as { detail: Detail }).detail

describe('PATCH of a config', () => {
  it('merges top-level fields and returns the merged config with the next generation', async () => {
    const reply = await fixture.patch('w1', { enabled: true, slots: 3 })
    expect(reply.status).toBe(200)
    expect(reply.json).toEqual({
      config: { enabled: true, slots: 3, max_attempts: 3, recycle_seconds: 0, interval: 5 },
      config_gen: 1,
    })
  })

  it('returns an ETag with the epoch and the generation (D15)', async () => {
    const reply = await fixture.patch('w1', {})
    expect(reply.headers.get('etag')).toBe(`"${await fixture.epoch()}.1"`)
  })

  it('raises the generation even when nothing changes (D16)', async () => {
    await fixture.patch('w1', { slots: 1 })
    const reply = await fixture.patch('w1', { slots: 1 })
    expect(reply.json).toMatchObject({ config_gen: 2 })
  })

  it('resets a field to its default on null, and removes a field without a default (D13)', async () => {
    await fixture.patch('w1', { slots: 9, label: 'blue' })
    expect(configOf(await fixture.patch('w1', { slots: null, label: null }))).toEqual({
      enabled: false,
      slots: 1,
      max_attempts: 3,
      recycle_seconds: 0,
      interval: 5,
    })
  })

  it('keeps null as a value where the schema accepts it (D13)', async () => {
    expect(configOf(await fixture.patch('w1', { note: null }))).toMatchObject({ note: null })
  })

  it.each(['{"__proto__":{"slots":2}}', '{"smtp":{"constructor":1}}', '{"label":[{"prototype":1}]}'])(
    'refuses forbidden keys at any depth: %s (D13)',
    async (body) => {
      const reply = await fixture.patch('w1', body)
      expect(reply.status).toBe(422)
      expect(detailOf(reply)).toHaveLength(1)
      expect(({} as Record<string, unknown>)['slots']).toBeUndefined()
    },
  )

  it.each(['toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'])(
    'refuses %s like any other unknown field, also with null (S7)',
    async (name) => {
      for (const value of [null, MASK, 1]) {
        const reply = await fixture.patch('w1', { [name]: value })
        expect([reply.status, detailOf(reply).map(({ path }) => path)]).toEqual([422, [`/${name}`]])
      }
    },
  )

  it('reports all faults together and stores nothing (D14)', async () => {
    const reply = await fixture.patch('w1', { slots: 2_000, interval: 'often', colour: 'red' })
    expect(reply.status).toBe(422)
    expect(
      detailOf(reply)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['/colour', '/interval', '/slots'])
    expect(await fixture.get('/w1')).toMatchObject({ config_gen: 0, config: { slots: 1, interval: 5 } })
    expect(await fixture.get('/w1/config/history')).toEqual([])
  })

  it('refuses a merged config above 256 KiB', async () => {
    const reply = await fixture.patch('w1', { label: 'x'.repeat(300_000) })
    expect(reply.status).toBe(422)
    expect(detailOf(reply)[0]).toMatchObject({ path: '', keyword: 'maxBytes' })
  })

  it('returns 404 for a worker that is not registered (D7)', async () => {
    const reply = await fixture.patch('ghost', { slots: 2 })
    expect(reply.status).toBe(404)
    expect((reply.json as { detail: string }).detail).toContain('"ghost"')
  })

  it('publishes an event with the generation, the fields and the actor, but no values', async () => {
    await fixture.patch('w1', { slots: 4, api_key: CANARY }, { 'muster-actor': 'cli:peter' })
    const events = (await fixture.events()).filter(({ name }) => name === 'worker.config_changed')
    expect(events).toHaveLength(1)
    expect(events[0]?.data).toMatchObject({
      type: 'mailer',
      worker_id: 'w1',
      config_gen: 1,
      changed: ['api_key', 'slots'],
      config_changed_by: 'admin cli:peter',
    })
    expect(JSON.stringify(events)).not.toContain(CANARY)
  })

  it('signals the master that has the socket when it is another one (D33)', async () => {
    const signals: unknown[] = []
    const { bus } = fixture.deps.backend
    const signal = bus.signal.bind(bus)
    bus.signal = async (masterId, each) => {
      signals.push([masterId, each])
      await signal(masterId, each)
    }
    await fixture.patch('w1', { slots: 2 })
    expect(signals).toEqual([
      ['elsewhere', { kind: 'config_changed', ref: { type: 'mailer', id: 'w1' }, conn: 'elsewhere/1', gen: 1 }],
    ])
  })

  it('drops a stored field that the automation no longer has, and adds the default of a new one', async () => {
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'w1',
      expectGen: 0,
      config: '{"enabled":true,"slots":2,"gone":1}',
      changed: [],
      actor: 'admin',
    })
    expect(configOf(await fixture.patch('w1', { slots: 3 }))).toEqual({
      enabled: true,
      slots: 3,
      max_attempts: 3,
      recycle_seconds: 0,
      interval: 5,
    })
  })
})

describe('If-Match of a PATCH', () => {
  const tag = async (gen: number): Promise<string> => `"${await fixture.epoch()}.${gen}"`

  it('accepts the current generation, also as a weak ETag (D15)', async () => {
    expect((await fixture.patch('w1', { slots: 2 }, { 'if-match': await tag(0) })).status).toBe(200)
    expect((await fixture.patch('w1', { slots: 3 }, { 'if-match': `"other", W/${await tag(1)}` })).status).toBe(200)
    expect((await fixture.patch('w1', { slots: 4 }, { 'if-match': '*' })).status).toBe(200)
  })

  it('rejects a stale generation, names both generations and changes nothing (D15)', async () => {
    await fixture.patch('w1', { slots: 2 })
    const reply = await fixture.patch('w1', { slots: 3 }, { 'if-match': await tag(0) })
    expect(reply.status).toBe(412)
    expect((reply.json as { detail: string }).detail).toMatch(/generation 1\b.*generation 0\b/)
    expect(await fixture.get('/w1')).toMatchObject({ config_gen: 1, config: { slots: 2 } })
  })

  it('rejects an ETag of another epoch and an invalid one (D15)', async () => {
    const foreign = await fixture.patch('w1', {}, { 'if-match': '"elsewhere.0"' })
    expect(foreign.status).toBe(412)
    expect((foreign.json as { detail: string }).detail).toContain('another epoch')
    expect((await fixture.patch('w1', {}, { 'if-match': 'rubbish' })).status).toBe(412)
  })
})

describe('concurrent PATCHes', () => {
  it('lose no change, and every success has its own generation (D18)', async () => {
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        fixture.patch('w1', index % 2 === 0 ? { slots: index } : { interval: index }),
      ),
    )
    expect(replies.map(({ json }) => (json as { config_gen: number }).config_gen).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    expect(await fixture.get<unknown[]>('/w1/config/history?limit=100')).toHaveLength(30)
  })

  it('on one master wait for each other instead of competing', async () => {
    const { configs } = fixture.deps.backend
    const put = configs.put.bind(configs)
    let puts = 0
    configs.put = async (each) => {
      puts += 1
      for (let turn = 0; turn < 5; turn += 1) await fixture.time.advance(0) // Lets the others arrive.
      return put(each)
    }
    await Promise.all(Array.from({ length: 10 }, () => fixture.patch('w1', {})))
    expect(puts).toBe(10)
  })

  it('are retried after a change by another master, and keep that change (D18)', async () => {
    let interfered = false
    const interfering = await RegistryFixture.open({
      backend: (real) =>
        withPut(real, async (put) => {
          if (!interfered) {
            interfered = true
            await real.configs.put({ ...put, config: '{"enabled":true,"slots":7}', actor: 'scoped' })
          }
          return real.configs.put(put)
        }),
    })
    try {
      await interfering.record('w1')
      expect((await interfering.patch('w1', { interval: 9 })).json).toMatchObject({
        config: { enabled: true, slots: 7, interval: 9 },
        config_gen: 2,
      })
    } finally {
      await interfering.close()
    }
  })

  it('return 412 when another change came first and If-Match was sent (D15, D18)', async () => {
    const interfering = await RegistryFixture.open({
      backend: (real) =>
        withPut(real, async (put) => {
          await real.configs.put({ ...put, config: '{"slots":7}', actor: 'scoped' })
          return real.configs.put(put)
        }),
    })
    try {
      await interfering.record('w1')
      const reply = await interfering.patch('w1', { interval: 9 }, { 'if-match': `"${await interfering.epoch()}.0"` })
      expect(reply.status).toBe(412)
    } finally {
      await interfering.close()
    }
  })

  it('return 503 when other changes come first for 5 s', async () => {
    const crowded: RegistryFixture = await RegistryFixture.open({
      backend: (real) =>
        withPut(real, async (put) => {
          crowded.time.jump(1_000)
          await real.configs.put({ ...put, config: '{"slots":7}', actor: 'scoped' })
          return real.configs.put(put)
        }),
    })
    try {
      await crowded.record('w1')
      expect((await crowded.patch('w1', { interval: 9 })).status).toBe(503)
    } finally {
      await crowded.close()
    }
  })
})

/** A backend whose config writes go through `put`. */
function withPut(real: Backend, put: (put: ConfigPut) => ReturnType<Backend['configs']['put']>): Backend {
  const configs = new Proxy(real.configs, {
    get: (target, name: keyof Backend['configs']) => (name === 'put' ? put : target[name].bind(target)),
  })
  return new Proxy(real, {
    get: (target, name) => {
      const value = name === 'configs' ? configs : (Reflect.get(target, name, target) as unknown)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

describe('secrets of a config', () => {
  const secret = { api_key: CANARY, smtp: { host: 'mx', password: CANARY } }

  it("are masked in every read except the worker's own poll (D17, D52, D61)", async () => {
    const patched = await fixture.patch('w1', secret)
    expect(configOf(patched)).toMatchObject({ api_key: MASK, smtp: { host: 'mx', password: MASK } })
    for (const path of ['', '/w1', '/w1/config/history', '/w1/stats', '?view=summary'])
      expect((await fixture.call('GET', path)).text).not.toContain(CANARY)
    expect(await fixture.get('/w1')).toMatchObject({ config: { api_key: MASK, smtp: { host: 'mx', password: MASK } } })
    expect(configOf(await poll())).toMatchObject(secret)
  })

  it('are kept by a PATCH that contains the mask (D17)', async () => {
    await fixture.patch('w1', secret)
    await fixture.patch('w1', { api_key: MASK, smtp: { host: 'mx2', password: MASK } })
    expect(configOf(await poll())).toMatchObject({ api_key: CANARY, smtp: { host: 'mx2', password: CANARY } })
  })

  it('never appear in an error, not even the names inside a secret object (D17)', async () => {
    for (const body of [
      { api_key: [CANARY] },
      { smtp: { host: 'mx', password: { [CANARY]: 1 } } },
      { vault: { [CANARY]: CANARY } },
      { vault: { pin: CANARY } },
      { vault: { [CANARY]: { constructor: 1 } } },
    ]) {
      const reply = await fixture.patch('w1', body)
      expect(reply.status).toBe(422)
      expect(reply.text).not.toContain(CANARY)
    }
    expect(JSON.stringify(fixture.log.lines)).not.toContain(CANARY)
  })
})

describe('Muster-Actor', () => {
  it('is stored in record and history after the role (D39)', async () => {
    await fixture.patch('w1', {}, { 'muster-actor': 'dashboard:ann' })
    expect(await fixture.get('/w1')).toMatchObject({
      config_changed_by: 'admin dashboard:ann',
      config_changed_at: fixture.time.wallMs() / 1_000,
    })
    expect(await fixture.get('/w1/config/history')).toMatchObject([{ actor: 'admin dashboard:ann' }])
  })

  it.each(['x'.repeat(129), 'caf\u00e9'])(
    'is refused when it is too long or not printable ASCII (D39)',
    async (actor) => {
      const reply = await fixture.patch('w1', { slots: 2 }, { 'muster-actor': actor })
      expect(reply.status).toBe(422)
      expect(await fixture.get('/w1')).toMatchObject({ config_gen: 0 })
    },
  )
})

describe('the history of a config', () => {
  it('returns the newest changes first, up to the limit (D39)', async () => {
    for (const slots of [2, 3, 4]) await fixture.patch('w1', { slots })
    const rows =
      await fixture.get<{ config_gen: number; changed: string[]; config: object }[]>('/w1/config/history?limit=2')
    expect(rows.map(({ config_gen }) => config_gen)).toEqual([3, 2])
    expect(rows[0]).toMatchObject({
      ts: fixture.time.wallMs() / 1_000,
      actor: 'admin',
      changed: ['slots'],
      config: { slots: 4 },
    })
  })

  it('omits fields that the automation no longer has, because they may have been secret (D17)', async () => {
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'w1',
      expectGen: 0,
      config: `{"slots":2,"old_key":"${CANARY}"}`,
      changed: ['old_key'],
      actor: 'admin',
    })
    expect(await fixture.get('/w1/config/history')).toMatchObject([{ changed: ['old_key'], config: { slots: 2 } }])
    expect((await fixture.call('GET', '/w1/config/history')).text).not.toContain(CANARY)
  })

  it('returns 404 for an unknown worker, and 422 for a limit out of range (D7, D9)', async () => {
    expect((await fixture.call('GET', '/ghost/config/history')).status).toBe(404)
    expect((await fixture.call('GET', '/w1/config/history?limit=0')).status).toBe(422)
  })
})

describe('a PATCH during which the store loses changes', () => {
  it('changes the config that is stored, and not a lost one of the same generation (D46)', async () => {
    let lost = '{}'
    await fixture.close()
    fixture = await RegistryFixture.open({
      backend: (real) => {
        const get = real.configs.get.bind(real.configs)
        const stale: typeof get = async (refs) => (await get(refs)).map((row) => row && { ...row, config: lost })
        real.configs.get = (refs) => {
          real.configs.get = get
          return stale(refs)
        }
        return real
      },
    })
    await fixture.worker('w1')
    lost = JSON.stringify({ enabled: true, slots: 7, max_attempts: 3, recycle_seconds: 0 })
    const reply = await fixture.patch('w1', { max_attempts: 5 })
    expect(reply.json).toMatchObject({ config: { enabled: false, slots: 1, max_attempts: 5 }, config_gen: 1 })
  })
})

describe('the config poll', () => {
  const tag = async (gen: number): Promise<string> => `"${await fixture.epoch()}.${gen}"`

  it('returns config and generation with an ETag', async () => {
    await fixture.patch('w1', { slots: 2 })
    const reply = await poll()
    expect(reply.json).toMatchObject({ config: { slots: 2 }, config_gen: 1 })
    expect(reply.headers.get('etag')).toBe(await tag(1))
  })

  it('returns 304 for the current generation, and the config for an older or foreign one (D15)', async () => {
    await fixture.patch('w1', { slots: 2 })
    const unchanged = await poll({ 'if-none-match': await tag(1) })
    expect([unchanged.status, unchanged.text]).toEqual([304, ''])
    expect((await poll({ 'if-none-match': await tag(0) })).status).toBe(200)
    expect((await poll({ 'if-none-match': '"elsewhere.1"' })).status).toBe(200)
  })

  it('returns 404 for an unknown worker (D7)', async () => {
    expect((await poll({}, 'ghost')).status).toBe(404)
  })

  it('raises the generation above the one a worker has seen, logs it, and keeps the config (D46, G26)', async () => {
    await fixture.patch('w1', { slots: 2 })
    const reply = await poll({ 'if-none-match': await tag(40) })
    expect(reply.json).toMatchObject({ config: { slots: 2 }, config_gen: 41 })
    expect(reply.headers.get('etag')).toBe(await tag(41))
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    expect(await fixture.metric('svc_store_regressions_total')).toBe('svc_store_regressions_total 1')
    expect((await fixture.patch('w1', {})).json).toMatchObject({ config_gen: 42 })
    expect(await fixture.get<unknown[]>('/w1/config/history')).toHaveLength(2)
  })

  it('raises a generation that was used for two configs, as the digest of a worker shows (D46, G26)', async () => {
    await fixture.patch('w1', { slots: 2 })
    const first = await poll()
    const marks = (digest: string): Record<string, string> => ({
      'if-none-match': first.headers.get('etag') ?? '',
      'muster-config-digest': digest,
    })
    const digest = first.headers.get('muster-config-digest') ?? ''
    expect((await poll(marks(digest))).status).toBe(304)
    expect(await fixture.metric('svc_store_regressions_total')).toBe('svc_store_regressions_total 0')
    const reply = await poll(marks('the digest of a lost config'))
    expect(reply.json).toMatchObject({ config: { slots: 2 }, config_gen: 2 })
    expect(await fixture.metric('svc_store_regressions_total')).toBe('svc_store_regressions_total 1')
    expect((await fixture.patch('w1', { slots: 3 })).json).toMatchObject({ config_gen: 3 })
    expect((await poll(marks(digest))).headers.get('muster-config-digest')).not.toBe(digest)
  })

  it('does not raise the generation for another epoch, or by more than a million (D46)', async () => {
    expect((await poll({ 'if-none-match': '"elsewhere.40"' })).json).toMatchObject({ config_gen: 0 })
    expect(await fixture.metric('svc_store_regressions_total')).toBe('svc_store_regressions_total 0')
    expect((await poll({ 'if-none-match': await tag(5_000_000) })).json).toMatchObject({ config_gen: 0 })
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})
