/** Pools: exclusive claims by workers, inspection by admins. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SECOND, type Json, type ConformanceFixture } from './fixture.ts'

const HOLD_MS = 30_000
const item = (id: string, more: object = {}) => ({ id, tags: { region: 'eu' }, payload: { user: id }, ...more })
const put = (world: ConformanceFixture, ...items: object[]): Promise<Json> =>
  world.rpc('w-1', 'pool.put', { pool: 'accounts', items })
const claim = (world: ConformanceFixture, more: object = {}): Promise<Json> =>
  world.rpc('w-1', 'pool.claim', { pool: 'accounts', hold_ms: HOLD_MS, ...more })
const inspect = async (world: ConformanceFixture, query = ''): Promise<Json> =>
  (await world.call('GET', `${API}/pools/accounts${query}`)).body

onEachStore('pools', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const world = await open()
    await world.worker('w-1')
    return world
  }

  it('pool/id, pool/tags, pool/payload, pool/expires_at, pool/in_use_until, route/pool, D60i: shows each item and until when it is claimed', async () => {
    const world = await withWorker()
    expect(await put(world, item('a'), item('b', { expires_at: world.now + 100 }))).toEqual({
      results: ['created', 'created'],
    })
    expect(await inspect(world)).toEqual({
      size: 2,
      items: [
        { id: 'a', tags: { region: 'eu' }, payload: { user: 'a' }, expires_at: null, in_use_until: null },
        { id: 'b', tags: { region: 'eu' }, payload: { user: 'b' }, expires_at: world.now + 100, in_use_until: null },
      ],
    })
    expect((await claim(world)).claims).toMatchObject([
      { id: 'a', payload: { user: 'a' }, in_use_until: world.now + HOLD_MS / SECOND },
    ])
    expect((await inspect(world)).items[0].in_use_until).toBe(world.now + HOLD_MS / SECOND)
    expect(await put(world, item('a'))).toEqual({ results: ['replaced'] })
  })

  it('pool/pruned-lazily: lists no expired item', async () => {
    const world = await withWorker()
    await put(world, item('a', { expires_at: world.now + 10 }), item('b'))
    world.time.jump(11 * SECOND)
    expect(await inspect(world)).toMatchObject({ size: 1, items: [{ id: 'b' }] })
    expect((await claim(world, { n: 10 })).claims.map(({ id }: Json) => id)).toEqual(['b'])
  })

  it('pool/exclusive, pool/crash: grants an item to one owner, and to another when the claim has expired', async () => {
    const world = await withWorker()
    await put(world, item('a'))
    const [first] = (await claim(world)).claims
    expect(await claim(world)).toEqual({ claims: [] })
    world.time.jump(HOLD_MS)
    const [second] = (await claim(world)).claims
    expect(second.id).toBe('a')
    expect(second.token).toBeGreaterThan(first.token)
    expect(await world.rpc('w-1', 'pool.release', { pool: 'accounts', id: 'a', token: first.token })).toMatchObject({
      code: -32_001,
      data: { code: 'lease_lost' },
    })
  })

  it('D30b, D60j: leases the least recently used item; claims are extended, released and removed by their token', async () => {
    const world = await withWorker()
    await put(world, item('a'), item('b'), item('c', { tags: { region: 'us' } }))
    const [a] = (await claim(world)).claims
    expect(await world.rpc('w-1', 'pool.release', { pool: 'accounts', id: 'a', token: a.token })).toEqual({})
    const [b] = (await claim(world)).claims
    expect(b.id).toBe('b')
    expect(
      await world.rpc('w-1', 'pool.extend', { pool: 'accounts', id: 'b', token: b.token, hold_ms: 60_000 }),
    ).toEqual({ in_use_until: world.now + 60 })
    expect((await claim(world, { match: { region: 'us' } })).claims).toMatchObject([{ id: 'c' }])
    expect(await world.rpc('w-1', 'pool.remove', { pool: 'accounts', id: 'b', token: b.token })).toEqual({
      removed: true,
    })
    expect((await inspect(world)).size).toBe(2)
  })

  it('D30c, D60k: rejects a pool that no automation declares', async () => {
    const world = await withWorker()
    expect((await world.call('GET', `${API}/pools/nowhere`)).status).toBe(404)
    expect(await world.rpc('w-1', 'pool.claim', { pool: 'nowhere', hold_ms: HOLD_MS })).toMatchObject({
      code: -32_004,
      data: { code: 'unknown_pool' },
    })
  })

  it('limits/n-pool, D9g: returns 20 items without n', async () => {
    const world = await withWorker()
    await put(world, ...Array.from({ length: 25 }, (_, i) => item(`i-${i}`)))
    expect([
      (await inspect(world)).items.length,
      (await inspect(world, '?n=3')).items.length,
      (await inspect(world)).size,
    ]).toEqual([20, 3, 25])
  })

  it('about/pools-read-only: has no route that changes a pool', async () => {
    expect((await open()).routes.filter((route) => route.includes('/pools/'))).toEqual([
      'GET /api/v1/pools/{pool_name}',
    ])
  })
})
