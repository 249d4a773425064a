import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RpcParams, RpcResult } from '../../../src/protocol/index.ts'
import { QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
})
afterEach(() => fixture.close())

const nowSeconds = (): number => fixture.time.wallMs() / 1_000
const item = (id: string, tags: object = {}): RpcParams<'pool.put'>['items'][number] => ({
  id,
  tags: tags as Record<string, unknown>,
  payload: { login: id },
})
const put = (...items: RpcParams<'pool.put'>['items']): Promise<RpcResult<'pool.put'>> =>
  fixture.rpc('w', 'pool.put', { pool: 'accounts', items })
const claim = async (more: object = {}): Promise<RpcResult<'pool.claim'>['claims']> =>
  (await fixture.rpc('w', 'pool.claim', { pool: 'accounts', hold_ms: 2_000, ...more })).claims

describe('a pool', () => {
  it('accepts items, and returns which of them replaced an item', async () => {
    expect(await put(item('a'), item('b'), item('a'))).toEqual({ results: ['created', 'created', 'replaced'] })
  })

  it('checks tags and payload against the declaration of the automation, with a pointer for every fault', async () => {
    const items = [item('a'), { id: 'b', tags: { region: 7 }, payload: { login: 1, more: 2 } }]
    const { error } = await fixture.tryRpc('w', 'pool.put', { pool: 'accounts', items })
    expect(error?.code).toBe(-32_602)
    expect(error?.data['errors']).toMatchObject([
      { path: '/items/1/tags/region' },
      { path: '/items/1/payload/more' },
      { path: '/items/1/payload/login' },
    ])
    expect((await fixture.call('GET', '/pools/accounts')).json).toMatchObject({ size: 0 })
  })

  it('hands out an item to one holder at a time, least recently used first (D30, G4)', async () => {
    await put(item('a', { region: 'eu' }), item('b'))
    const [first] = await claim()
    expect(first).toEqual({
      id: 'a',
      token: expect.any(Number),
      tags: { region: 'eu' },
      payload: { login: 'a' },
      in_use_until: nowSeconds() + 2,
    })
    expect((await claim({ n: 1_000 })).map(({ id }) => id)).toEqual(['b'])
    expect(await claim()).toEqual([])
    await fixture.time.advance(2_000)
    expect((await claim({ n: 2 })).map(({ id }) => id)).toEqual(['a', 'b'])
  })

  it('returns claims of up to 32 MiB per request, and leaves the remaining items free', async () => {
    for (const id of ['a', 'b', 'c', 'd'])
      await fixture.deps.backend.pools.put('accounts', [
        { id, tags: '{}', payload: `{"login":"${'x'.repeat(12 * 1_048_576)}"}`, expiresAtMs: null },
      ])
    const call = (id: number): object => ({
      jsonrpc: '2.0',
      id,
      method: 'pool.claim',
      params: { pool: 'accounts', hold_ms: 2_000, n: 1 },
    })
    const responses = (await fixture.post('w', [1, 2, 3, 4].map(call))).json as { error?: { data: object } }[]
    expect(responses.map(({ error }) => error === undefined)).toEqual([true, true, true, true]) // These are concurrent.
    await fixture.time.advance(2_000)
    const many = { jsonrpc: '2.0', id: 5, method: 'pool.claim', params: { pool: 'accounts', hold_ms: 2_000, n: 1_000 } }
    const [first, second, third] = (await fixture.post('w', [many, many, many])).json as {
      result?: { claims: { id: string }[] }
      error?: { data: object }
    }[]
    expect([first?.result?.claims.map(({ id }) => id), second?.result?.claims.map(({ id }) => id)]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    expect(third?.error?.data).toMatchObject({ code: 'unavailable' })
  })

  it('claims only items whose tags equal `match`', async () => {
    await put(
      item('a', { region: 'eu', tier: 1 }),
      item('b', { region: 'us', tier: 2 }),
      item('c', { region: 'us', tier: 1 }),
    )
    expect((await claim({ match: { region: 'us', tier: 1 }, n: 5 })).map(({ id }) => id)).toEqual(['c'])
    expect(await claim({ match: { region: 'mars' } })).toEqual([])
  })

  it('never hands out an expired item', async () => {
    await put({ ...item('a'), expires_at: nowSeconds() + 1 })
    await fixture.time.advance(1_000)
    expect(await claim()).toEqual([])
  })

  it('is extended, released and removed by the token of the claim; other tokens return lease_lost (D60)', async () => {
    await put(item('a'))
    const [{ token } = { token: 0 }] = await claim()
    const wrong = token + 1
    expect(await fixture.rpc('w', 'pool.extend', { pool: 'accounts', id: 'a', token, hold_ms: 9_000 })).toEqual({
      in_use_until: nowSeconds() + 9,
    })
    for (const [method, params] of [
      ['pool.extend', { hold_ms: 1_000 }],
      ['pool.release', {}],
      ['pool.remove', {}],
    ] as const) {
      expect(
        (await fixture.tryRpc('w', method, { pool: 'accounts', id: 'a', token: wrong, ...params })).error,
      ).toMatchObject({ code: -32_001, data: { code: 'lease_lost' } })
    }
    expect(await fixture.rpc('w', 'pool.release', { pool: 'accounts', id: 'a', token })).toEqual({})
    expect(await fixture.rpc('w', 'pool.remove', { pool: 'accounts', id: 'a' })).toEqual({ removed: true })
    expect(await fixture.rpc('w', 'pool.remove', { pool: 'accounts', id: 'a' })).toEqual({ removed: false })
  })

  it('is available only to an automation that declares it (S13)', async () => {
    const calls = [
      ['pool.put', { items: [item('a')] }],
      ['pool.claim', { hold_ms: 1_000 }],
      ['pool.extend', { id: 'a', token: 1, hold_ms: 1_000 }],
      ['pool.release', { id: 'a', token: 1 }],
      ['pool.remove', { id: 'a' }],
    ] as const
    for (const [method, params] of calls) {
      for (const [pool, type] of [
        ['secrets', 'mailer'],
        ['accounts', 'feed'],
        ['__proto__', 'mailer'],
      ] as const) {
        expect((await fixture.tryRpc('w', method, { pool, ...params }, { type })).error).toMatchObject({
          code: -32_004,
          data: { code: 'unknown_pool' },
        })
      }
    }
  })

  it.each([
    [{ hold_ms: 0 }],
    [{ hold_ms: -1 }],
    [{ n: 0 }],
    [{ n: 1_001 }],
    [{ match: { a: null } }],
    [{ match: { a: {} } }],
  ])('refuses a claim with %j', async (more) => {
    expect((await fixture.tryRpc('w', 'pool.claim', { pool: 'accounts', hold_ms: 1_000, ...more })).error?.code).toBe(
      -32_602,
    )
  })
})
