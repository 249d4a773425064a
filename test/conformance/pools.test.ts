/** Pools: exclusive claims by workers, inspection by admins. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SECOND, type Json, type ConformanceFixture } from './fixture.ts'

const HOLD_MS = 30_000
const item = (id: string, more: object = {}) => ({ id, tags: { region: 'eu' }, payload: { user: id }, ...more })
const put = (fixture: ConformanceFixture, ...items: object[]): Promise<Json> =>
  fixture.rpc('w-1', 'pool.put', { pool: 'accounts', items })
const claim = (fixture: ConformanceFixture, more: object = {}): Promise<Json> =>
  fixture.rpc('w-1', 'pool.claim', { pool: 'accounts', hold_ms: HOLD_MS, ...more })
const inspect = async (fixture: ConformanceFixture, query = ''): Promise<Json> =>
  (await fixture.call('GET', `${API}/pools/accounts${query}`)).body

onEachStore('pools', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }

  it(
    'pool/id, pool/tags, pool/payload, pool/expires_at, pool/in_use_until, route/pool, D60i: ' +
      'shows each item and until when it is claimed',
    async () => {
      const fixture = await withWorker()
      expect(await put(fixture, item('a'), item('b', { expires_at: fixture.now + 100 }))).toEqual({
        results: ['created', 'created'],
      })
      expect(await inspect(fixture)).toEqual({
        size: 2,
        items: [
          { id: 'a', tags: { region: 'eu' }, payload: { user: 'a' }, expires_at: null, in_use_until: null },
          {
            id: 'b',
            tags: { region: 'eu' },
            payload: { user: 'b' },
            expires_at: fixture.now + 100,
            in_use_until: null,
          },
        ],
      })
      expect((await claim(fixture)).claims).toMatchObject([
        { id: 'a', payload: { user: 'a' }, in_use_until: fixture.now + HOLD_MS / SECOND },
      ])
      expect((await inspect(fixture)).items[0].in_use_until).toBe(fixture.now + HOLD_MS / SECOND)
      expect(await put(fixture, item('a'))).toEqual({ results: ['replaced'] })
    },
  )

  it('pool/pruned-lazily: lists no expired item', async () => {
    const fixture = await withWorker()
    await put(fixture, item('a', { expires_at: fixture.now + 10 }), item('b'))
    fixture.time.jump(11 * SECOND)
    expect(await inspect(fixture)).toMatchObject({ size: 1, items: [{ id: 'b' }] })
    expect((await claim(fixture, { n: 10 })).claims.map(({ id }: Json) => id)).toEqual(['b'])
  })

  it('pool/exclusive, pool/crash: grants an item to one owner, and to another when the claim has expired', async () => {
    const fixture = await withWorker()
    await put(fixture, item('a'))
    const [first] = (await claim(fixture)).claims
    expect(await claim(fixture)).toEqual({ claims: [] })
    fixture.time.jump(HOLD_MS)
    const [second] = (await claim(fixture)).claims
    expect(second.id).toBe('a')
    expect(second.token).toBeGreaterThan(first.token)
    expect(await fixture.rpc('w-1', 'pool.release', { pool: 'accounts', id: 'a', token: first.token })).toMatchObject({
      code: -32_001,
      data: { code: 'lease_lost' },
    })
  })

  it('D30b, D60j: leases the least recently used item; its token extends, releases and removes the claim', async () => {
    const fixture = await withWorker()
    await put(fixture, item('a'), item('b'), item('c', { tags: { region: 'us' } }))
    const [a] = (await claim(fixture)).claims
    expect(await fixture.rpc('w-1', 'pool.release', { pool: 'accounts', id: 'a', token: a.token })).toEqual({})
    const [b] = (await claim(fixture)).claims
    expect(b.id).toBe('b')
    expect(
      await fixture.rpc('w-1', 'pool.extend', { pool: 'accounts', id: 'b', token: b.token, hold_ms: 60_000 }),
    ).toEqual({ in_use_until: fixture.now + 60 })
    expect((await claim(fixture, { match: { region: 'us' } })).claims).toMatchObject([{ id: 'c' }])
    expect(await fixture.rpc('w-1', 'pool.remove', { pool: 'accounts', id: 'b', token: b.token })).toEqual({
      removed: true,
    })
    expect((await inspect(fixture)).size).toBe(2)
  })

  it('D30c, D60k: rejects a pool that no automation declares', async () => {
    const fixture = await withWorker()
    expect((await fixture.call('GET', `${API}/pools/nowhere`)).status).toBe(404)
    expect(await fixture.rpc('w-1', 'pool.claim', { pool: 'nowhere', hold_ms: HOLD_MS })).toMatchObject({
      code: -32_004,
      data: { code: 'unknown_pool' },
    })
  })

  it('limits/n-pool, D9g: returns 20 items without n', async () => {
    const fixture = await withWorker()
    await put(fixture, ...Array.from({ length: 25 }, (_, i) => item(`i-${i}`)))
    expect([
      (await inspect(fixture)).items.length,
      (await inspect(fixture, '?n=3')).items.length,
      (await inspect(fixture)).size,
    ]).toEqual([20, 3, 25])
  })

  it('D186a: lists who holds each item, and who waits for one', async () => {
    const fixture = await withWorker()
    await put(fixture, item('a'), item('b'))
    const [a] = (await claim(fixture, { slot_id: 3, task_id: 't-1' })).claims
    await fixture.rpc('w-1', 'pool.extend', { pool: 'accounts', id: 'a', token: a.token, hold_ms: HOLD_MS })
    await claim(fixture)
    await claim(fixture, { slot_id: 4 })
    const seconds = expect.any(Number)
    const of = { automation_type: 'mailer', worker_id: 'w-1', in_use_until: seconds, claimed_at: seconds }
    expect((await fixture.call('GET', `${API}/pools/accounts/claims`)).body).toEqual({
      size: 2,
      in_use: 2,
      waiting: 1,
      claims: [
        { id: 'a', token: a.token, ...of, slot_id: 3, task_id: 't-1', renewals: 1 },
        { id: 'b', token: expect.any(Number), ...of, renewals: 0 },
      ],
      waiters: [{ automation_type: 'mailer', worker_id: 'w-1', slot_id: 4, since: seconds }],
    })
    expect((await fixture.call('GET', `${API}/pools`)).body.pools).toContainEqual({
      name: 'accounts',
      automation_types: ['mailer'],
      size: 2,
      in_use: 2,
      waiting: 1,
    })
    expect((await fixture.call('GET', `${API}/pools/accounts/claims?item=b`)).body.claims).toMatchObject([{ id: 'b' }])
  })

  it('D186b: ends the claim of another holder by its token, whose later calls are lost (G4)', async () => {
    const fixture = await withWorker()
    await put(fixture, item('a'))
    const [held] = (await claim(fixture)).claims
    const release = async (token: number): Promise<Json> =>
      (await fixture.call('POST', `${API}/pools/accounts/claims/release`, { body: { id: 'a', token } })).body
    expect(await release(held.token)).toEqual({ id: 'a', released: true, worker_id: 'w-1' })
    const mine = { pool: 'accounts', id: 'a', token: held.token }
    expect(await fixture.rpc('w-1', 'pool.extend', { ...mine, hold_ms: HOLD_MS })).toMatchObject({ code: -32_001 })
    const [next] = (await claim(fixture)).claims
    expect(next.id).toBe('a')
    expect(await release(held.token)).toEqual({ id: 'a', released: false, worker_id: null })
    expect(await fixture.rpc('w-1', 'pool.release', mine)).toMatchObject({ code: -32_001 })
    expect(await fixture.rpc('w-1', 'pool.release', { ...mine, token: next.token })).toEqual({})
  })

  it('about/pools-read-only: has no route that changes an item; one that ends a claim was added (D186)', async () => {
    expect((await open()).routes.filter((route) => route.includes('/pools/'))).toEqual([
      'GET /api/v1/pools/{pool_name}',
      'GET /api/v1/pools/{pool_name}/claims',
      'POST /api/v1/pools/{pool_name}/claims/release',
    ])
  })
})
