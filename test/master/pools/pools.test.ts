import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
})
afterEach(() => fixture.close())

describe('reading a pool', () => {
  it('returns size and items, oldest first, with the end of each claim', async () => {
    const nowSeconds = fixture.time.wallMs() / 1_000
    await fixture.rpc('w', 'pool.put', {
      pool: 'accounts',
      items: [
        { id: 'a', tags: { region: 'eu' }, payload: { login: 'a' } },
        { id: 'b', tags: {}, payload: { login: 'b' }, expires_at: nowSeconds + 60.5 },
      ],
    })
    await fixture.rpc('w', 'pool.claim', { pool: 'accounts', hold_ms: 2_500 })
    expect((await fixture.call('GET', '/pools/accounts')).json).toEqual({
      size: 2,
      items: [
        { id: 'a', tags: { region: 'eu' }, payload: { login: 'a' }, expires_at: null, in_use_until: nowSeconds + 2.5 },
        { id: 'b', tags: {}, payload: { login: 'b' }, expires_at: nowSeconds + 60.5, in_use_until: null },
      ],
    })
    await fixture.time.advance(61_000)
    expect((await fixture.call('GET', '/pools/accounts')).json).toMatchObject({ size: 1 })
  })

  it('returns 20 items without n (D9)', async () => {
    await fixture.rpc('w', 'pool.put', {
      pool: 'accounts',
      items: Array.from({ length: 25 }, (_, at) => ({ id: `i${at}`, tags: {}, payload: { login: 'x' } })),
    })
    expect(((await fixture.call('GET', '/pools/accounts')).json as { items: unknown[] }).items).toHaveLength(20)
    expect((await fixture.call('GET', '/pools/accounts?n=0')).status).toBe(422)
  })

  it('returns 404 for a pool that no automation declares (D30)', async () => {
    expect(await fixture.call('GET', '/pools/secrets')).toMatchObject({
      status: 404,
      json: { detail: expect.stringContaining('secrets') },
    })
  })
})
