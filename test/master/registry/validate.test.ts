import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { onEachStore } from '../stores.ts'
import { RegistryFixture, type RegistryResponse } from './fixture.ts'

const MASK = '********'
const CANARY = 'canary-7f3a91'

interface Validated {
  readonly valid: boolean
  readonly errors: readonly { readonly path: string }[]
  readonly changed?: readonly string[]
}

describe('config/validate', () => {
  let fixture: RegistryFixture
  beforeEach(async () => {
    fixture = await RegistryFixture.open()
    await fixture.record('w1')
  })
  afterEach(() => fixture.close())
  const ask = (body: unknown, id = 'w1', headers: Record<string, string> = {}): Promise<RegistryResponse> =>
    fixture.call('POST', `/${id}/config/validate`, { body, headers })
  const validated = async (body: unknown): Promise<Validated> => {
    const { status, json, text } = await ask(body)
    if (status !== 200) throw new Error(`${status} ${text}`)
    return json as Validated
  }

  it('returns the fields that a PATCH would change, and none when it would change nothing (D49)', async () => {
    expect(await validated({ enabled: true, slots: 3 })).toEqual({
      valid: true,
      errors: [],
      changed: ['enabled', 'slots'],
    })
    expect(await validated({ enabled: false, slots: null, interval: 5 })).toEqual({
      valid: true,
      errors: [],
      changed: [],
    })
    expect(await validated({})).toEqual({ valid: true, errors: [], changed: [] })
  })

  it.each([
    { slots: 1_025 },
    { slots: 'many', unknown: 1 },
    { enabled: null, recycle_seconds: -1 },
    { smtp: { host: 1 } },
    { label: 'x'.repeat(300_000) },
  ])('returns the faults for which a PATCH would be rejected: %#', async (patch) => {
    const refused = await fixture.patch('w1', patch)
    expect(refused.status).toBe(422)
    expect(await validated(patch)).toEqual({ valid: false, errors: (refused.json as { detail: unknown }).detail })
  })

  it('refuses forbidden keys like a PATCH (D13)', async () => {
    const { valid, errors } = (await ask('{"smtp":{"__proto__":1}}')).json as Validated
    expect([valid, errors.map(({ path }) => path)]).toEqual([false, ['/smtp/__proto__']])
  })

  it('stores nothing, sends no frame and raises no generation', async () => {
    const worker = await fixture.worker('w2')
    const before = [await fixture.get('/w2'), await fixture.get('/w2/config/history'), await fixture.events()]
    for (const body of [{ enabled: true }, { slots: -1 }]) await ask(body, 'w2')
    await worker.settled()
    expect([await fixture.get('/w2'), await fixture.get('/w2/config/history'), await fixture.events()]).toEqual(before)
    expect(worker.frames).toEqual([])
  })

  it('returns 404 for an unknown worker, also with an invalid body (D7)', async () => {
    for (const body of [{ slots: 2 }, '{"constructor":1}']) expect((await ask(body, 'unknown')).status).toBe(404)
  })

  it('ignores If-Match, which applies only to changes', async () => {
    expect((await ask({ slots: 2 }, 'w1', { 'if-match': '"elsewhere.9"' })).status).toBe(200)
  })

  it('reports every sent secret as changed, so that a client cannot guess the stored one (D17)', async () => {
    await fixture.patch('w1', { api_key: CANARY, smtp: { host: 'h', password: CANARY } })
    for (const guess of [CANARY, 'another']) {
      expect(await validated({ api_key: guess })).toMatchObject({ changed: ['api_key'] })
      expect(await validated({ smtp: { host: 'h', password: guess } })).toMatchObject({ changed: ['smtp'] })
    }
    expect(await validated({ api_key: MASK, smtp: { host: 'h', password: MASK } })).toMatchObject({
      valid: true,
      changed: [],
    })
    expect(await validated({ smtp: { host: 'other', password: MASK } })).toMatchObject({
      valid: true,
      changed: ['smtp'],
    })
  })

  it('returns no secret in a fault (D17)', async () => {
    await fixture.patch('w1', { api_key: CANARY })
    const { text } = await ask({ api_key: 'no', smtp: { host: 1, password: [CANARY] }, vault: { [CANARY]: 1 } })
    expect(text).not.toContain(CANARY)
    expect((JSON.parse(text) as Validated).valid).toBe(false)
  })
})

onEachStore('config/validate', (open) => {
  it('reads the stored config and does not change it (D49)', async () => {
    const { master } = await open()
    const worker = '/api/v1/automations/mailer/workers/w'
    await master.backend.workers.register([
      {
        type: 'mailer',
        id: 'w',
        conn: 'm/1',
        instance: 'i',
        hardware: '{"cores":2,"ram_gb":4,"hostname":"h","kernel":"k"}',
        defaults: '{"enabled":false,"slots":1,"max_attempts":3,"recycle_seconds":0}',
      },
    ])
    await master.call('PATCH', `${worker}/config`, { body: { slots: 4 } })
    expect(
      (await master.call('POST', `${worker}/config/validate`, { body: { slots: 4, enabled: true } })).json,
    ).toEqual({ valid: true, errors: [], changed: ['enabled'] })
    expect((await master.call('POST', `${worker}/config/validate`, { body: '[]' })).status).toBe(400)
    expect((await master.call('GET', worker)).json).toMatchObject({
      config: { enabled: false, slots: 4 },
      config_gen: 1,
    })
  })
})
