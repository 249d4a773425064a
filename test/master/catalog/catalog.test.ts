import { describe, expect, it } from '@jest/globals'
import { FEATURES, MAX_WAITING_PROBES, SCOPED_PERMISSIONS } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/index.ts'
import { runMaster, SETTINGS, TOKENS, type TestMaster } from '../../kit/running-master.ts'

describe('automations and catalog', () => {
  it('lists the descriptors of all types', async () => {
    const master = await runMaster()
    const { json } = await master.call('GET', '/api/v1/automations')
    expect(json).toEqual([
      expect.objectContaining({ type: 'mailer', class: 'Mailer', kind: 'BatchAutomation' }),
      expect.objectContaining({ type: 'probe', class: 'Probe', kind: 'ContinuousAutomation' }),
    ])
    expect(Object.keys((json as object[])[0] ?? {}).toSorted()).toEqual(['class', 'config_schema', 'kind', 'type'])
  })

  it('shows queue, stream and pools only for types that declare them', async () => {
    const master = await runMaster()
    const catalog = (await master.call('GET', '/api/v1/catalog')).json as Record<string, object>
    expect(Object.keys(catalog)).toEqual(['mailer', 'probe'])
    expect(Object.keys(catalog['mailer'] ?? {}).toSorted()).toEqual([
      'config',
      'kind',
      'pools',
      'queue',
      'stream',
      'type',
    ])
    expect(Object.keys(catalog['probe'] ?? {}).toSorted()).toEqual(['config', 'kind', 'stream', 'type'])
    expect((await master.call('GET', '/api/v1/catalog/mailer')).json).toEqual(catalog['mailer'])
  })

  it('returns 404 for a type that is not installed', async () => {
    const master = await runMaster()
    expect((await master.call('GET', '/api/v1/catalog/nowhere')).status).toBe(404)
  })
})

describe('me (D32)', () => {
  it.each([
    [TOKENS.admin, 'admin', ['*'], [...SCOPED_PERMISSIONS, 'fleet'], null],
    [TOKENS.worker, 'worker', ['*'], ['work'], null],
    [TOKENS.scaler, 'scaler', ['*'], ['scale'], null],
    [TOKENS.mailer, 'scoped', ['mailer'], SCOPED_PERMISSIONS, null],
    [TOKENS.everyType, 'scoped', ['*'], SCOPED_PERMISSIONS, null],
    [TOKENS.responder, 'scoped', ['mailer'], ['read', 'operate'], 'responder'],
  ])(
    'returns the types, permissions and name of a token (D86)',
    async (token, role, automations, permissions, name) => {
      const master = await runMaster()
      const { epoch } = await master.backend.meta.info()
      expect((await master.call('GET', '/api/v1/me', { token })).json).toEqual({
        role,
        automations,
        version: '1.2.3',
        epoch,
        backend: { scheme: 'memory', durable: false, shared: false, pubsub: false },
        limits: { submit_rps_per_token: 0, max_body_bytes: 131_072 },
        permissions,
        name,
        features: [...FEATURES],
        masters: [{ version: '1.2.3', layout: 1 }],
      })
    },
  )

  it('returns the environment that the master is configured with (D176)', async () => {
    const environment = { name: 'production', color: 'red' } as const
    const master = await runMaster({ settings: { ...SETTINGS, environment } })
    for (const token of [TOKENS.admin, TOKENS.responder])
      expect((await master.call('GET', '/api/v1/me', { token })).json).toMatchObject({ environment })
  })
})

describe('me with Prefer: wait (D218)', () => {
  const me = async (master: TestMaster, prefer: string, token: string = TOKENS.worker) => {
    const sinceMs = performance.now()
    const { status, headers, json } = await master.call('GET', '/api/v1/me', { token, headers: { prefer } })
    return { status, json, applied: headers.get('preference-applied'), tookMs: performance.now() - sinceMs }
  }

  it('responds after the time, with any token', async () => {
    const master = await runMaster()
    const { tookMs, ...rest } = await me(master, 'respond-async, wait=1')
    expect(rest).toMatchObject({ status: 200, applied: 'wait=1', json: { role: 'worker' } })
    expect(tookMs).toBeGreaterThan(990)
  })

  it.each(['', 'wait=', 'wait=-1', 'wait=1.5', 'wait=x', 'await=9', 'wait=99999', 'wait=0'])(
    'responds immediately to "%s"',
    async (prefer) => {
      expect(await me(await runMaster(), prefer)).toMatchObject({ status: 200, applied: null })
    },
  )

  it('refuses a token that has more than its share waiting, and ends the others when the master stops', async () => {
    const master = await runMaster()
    const share = MAX_WAITING_PROBES / 4
    const waiting = Array.from({ length: share }, () => me(master, 'wait=30'))
    await eventually('one more is refused', async () => (await me(master, 'wait=1')).status === 503)
    expect(await me(master, 'wait=1', TOKENS.mailer)).toMatchObject({ status: 200, applied: 'wait=1' })
    await master.stop()
    for (const { status, tookMs } of await Promise.all(waiting)) {
      expect(status).toBe(200)
      expect(tookMs).toBeLessThan(29_000)
    }
  })
})
