/** Contract of pools: items, exclusive claims, tags and expiry. */
import { describe, expect, it } from '@jest/globals'
import { HOSTILE, HOUR, MINUTE, SECOND, fails, ids, item, refOf, reopen, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, Claim, ClaimRequest } from '../../../src/storage/index.ts'

const POOL = 'proxies'
const put = (backend: Backend, ...names: readonly string[]) =>
  backend.pools.put(
    POOL,
    names.map((id) => item(id)),
  )
async function claim(
  backend: Backend,
  n = 1,
  match: ClaimRequest['match'] = {},
  holdMs = MINUTE,
): Promise<readonly Claim[]> {
  return sole(await backend.pools.claim(POOL, [{ owner: 'w1', n, holdMs, match }]))
}
const release = (backend: Backend, claims: readonly Claim[]) => backend.pools.release(POOL, claims.map(refOf))

export function pools(name: string, create: Create): void {
  describe(`${name} backend: pools.put, list and remove`, () => {
    const open = storeFixtures(create)

    it('lists items oldest first, at most n, with the size of the pool', async () => {
      const { backend, clock } = await open()
      const expires = clock.wallMs() + HOUR
      expect(
        await backend.pools.put(POOL, [
          item('b', { tags: '{"region":"eu"}', expiresAtMs: expires }),
          item('a'),
          item('c'),
        ]),
      ).toEqual(['created', 'created', 'created'])
      const { size, items } = await backend.pools.list(POOL, 2)
      expect(size).toBe(3)
      expect(items).toEqual([
        { id: 'b', tags: '{"region":"eu"}', payload: '{"of":"b"}', expiresAtMs: expires, inUseUntilMs: null },
        { id: 'a', tags: '{}', payload: '{"of":"a"}', expiresAtMs: null, inUseUntilMs: null },
      ])
      expect(await backend.pools.list('unknown', 2)).toEqual({ size: 0, items: [] })
      expect(await backend.pools.sizes([POOL, 'unknown'])).toEqual([3, 0])
    })

    it('replaces an item and keeps its claim', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a')
      const held = sole(await claim(backend))
      expect(await backend.pools.put(POOL, [item('a', { payload: '{"new":1}', tags: '{"x":1}' }), item('b')])).toEqual([
        'replaced',
        'created',
      ])
      expect((await backend.pools.list(POOL, 1)).items).toEqual([
        { id: 'a', tags: '{"x":1}', payload: '{"new":1}', expiresAtMs: null, inUseUntilMs: clock.wallMs() + MINUTE },
      ])
      expect(ids(await claim(backend, 5))).toEqual(['b'])
      expect(await release(backend, [held])).toEqual(['ok'])
      expect(sole(await claim(backend, 5))).toMatchObject({ id: 'a', payload: '{"new":1}', tags: '{"x":1}' })
    })

    it('removes an item even while it is claimed, which ends the claim', async () => {
      const { backend } = await open()
      await put(backend, 'a', 'b')
      const held = sole(await claim(backend))
      expect(
        await backend.pools.remove(
          POOL,
          ['a', 'unknown', 'a'].map((id) => ({ id, token: null })),
        ),
      ).toEqual([true, false, false])
      expect(await release(backend, [held])).toEqual(['lease_lost'])
      await put(backend, 'a')
      expect(await release(backend, [held])).toEqual(['lease_lost'])
      expect(ids(await claim(backend, 5))).toEqual(['b', 'a'])
    })

    it('removes with a token only while that claim is live', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a', 'b', 'c')
      const [a, b, c] = await claim(backend, 3)
      if (a === undefined || b === undefined || c === undefined) throw new Error('three claims were expected')
      await release(backend, [b])
      expect(
        await backend.pools.remove(POOL, [
          refOf(a),
          refOf(b),
          { id: 'c', token: a.token },
          { id: 'unknown', token: a.token },
        ]),
      ).toEqual([true, 'lease_lost', 'lease_lost', 'lease_lost'])
      clock.advance(MINUTE)
      expect(await backend.pools.remove(POOL, [refOf(c)])).toEqual(['lease_lost'])
      expect(ids((await backend.pools.list(POOL, 10)).items)).toEqual(['b', 'c'])
    })

    it('removes an expired item, claimed or not, and never leases it', async () => {
      const { backend, clock } = await open()
      const expires = clock.wallMs() + SECOND
      await backend.pools.put(POOL, [
        item('held', { expiresAtMs: expires }),
        item('free', { expiresAtMs: expires }),
        item('stays', { expiresAtMs: expires + 1 }),
      ])
      const held = sole(await claim(backend))
      clock.advance(SECOND)
      expect(await backend.pools.sizes([POOL])).toEqual([1])
      expect(ids(await claim(backend, 5))).toEqual(['stays'])
      expect(await backend.pools.extend(POOL, [{ ...refOf(held), holdMs: SECOND }])).toEqual([{ kind: 'lease_lost' }])
      expect(await backend.pools.put(POOL, [item('held')])).toEqual(['created'])
      expect((await backend.pools.list(POOL, 5)).size).toBe(2)
    })

    it('uses the expiry of the last put', async () => {
      const { backend, clock } = await open()
      const expires = clock.wallMs() + SECOND
      await backend.pools.put(POOL, [
        item('longer', { expiresAtMs: expires }),
        item('shorter'),
        item('never', { expiresAtMs: expires }),
      ])
      await backend.pools.put(POOL, [
        item('longer', { expiresAtMs: expires + HOUR }),
        item('shorter', { expiresAtMs: expires }),
        item('never'),
      ])
      clock.advance(MINUTE)
      expect(ids((await backend.pools.list(POOL, 5)).items).toSorted()).toEqual(['longer', 'never'])
    })

    it('rejects more than 100,000 items in a pool, and stores none of the call', async () => {
      const { backend } = await open()
      for (let i = 0; i < 10; i += 1)
        await backend.pools.put(
          POOL,
          Array.from({ length: 9_999 }, (_, k) => item(`${i}-${k}`)),
        )
      const rest = Array.from({ length: 11 }, (_, k) => item(`rest${k}`))
      await expect(backend.pools.put(POOL, [...rest])).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await backend.pools.sizes([POOL])).toEqual([99_990])
      expect(await backend.pools.put(POOL, [...rest.slice(0, 10), item('0-0')])).toHaveLength(11)
      expect(await backend.pools.put(POOL, [item('0-0')])).toEqual(['replaced'])
    }, 60_000)

    it('keeps pools and items with hostile names apart', async () => {
      const { backend } = await open()
      for (const pool of HOSTILE)
        await backend.pools.put(
          pool,
          HOSTILE.map((id) => item(id)),
        )
      for (const pool of HOSTILE) expect(ids((await backend.pools.list(pool, 100)).items)).toEqual(HOSTILE)
      expect(await backend.pools.sizes([POOL])).toEqual([0])
    })
  })

  describe(`${name} backend: pools.claim`, () => {
    const open = storeFixtures(create)

    it('returns the item with a token that only grows', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a')
      const first = sole(await claim(backend))
      expect(first).toEqual({
        id: 'a',
        token: expect.any(Number),
        tags: '{}',
        payload: '{"of":"a"}',
        expiresAtMs: clock.wallMs() + MINUTE,
      })
      expect((await backend.pools.list(POOL, 1)).items[0]?.inUseUntilMs).toBe(clock.wallMs() + MINUTE)
      await release(backend, [first])
      expect((await backend.pools.list(POOL, 1)).items[0]?.inUseUntilMs).toBe(null)
      expect(sole(await claim(backend)).token).toBeGreaterThan(first.token)
    })

    it('leases never used items first, in put order, then the least recently used (D30)', async () => {
      const { backend } = await open()
      await put(backend, 'a', 'b', 'c')
      const [a, b] = await claim(backend, 2)
      expect([a?.id, b?.id]).toEqual(['a', 'b'])
      await release(
        backend,
        [b, a].flatMap((each) => each ?? []),
      )
      await put(backend, 'd')
      expect(ids(await claim(backend, 10))).toEqual(['c', 'd', 'a', 'b'])
    })

    it('leases an item exclusively until the claim expires, to the millisecond', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a')
      await claim(backend)
      clock.advance(MINUTE - 1)
      expect(await claim(backend)).toEqual([])
      clock.advance(1)
      expect((await backend.pools.list(POOL, 1)).items[0]?.inUseUntilMs).toBe(null)
      expect(ids(await claim(backend))).toEqual(['a'])
    })

    it('orders expired claims by when they were made, not by when they expired', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a', 'b', 'c')
      await claim(backend, 1, {}, 3 * SECOND)
      await claim(backend, 1, {}, SECOND)
      await claim(backend, 1, {}, 2 * SECOND)
      clock.advance(3 * SECOND)
      expect(ids(await claim(backend, 3))).toEqual(['a', 'b', 'c'])
    })

    it('serves the requests of one call in order and never leases an item twice', async () => {
      const { backend } = await open()
      await put(backend, 'a', 'b', 'c')
      const request = { owner: 'w1', n: 2, holdMs: MINUTE, match: {} }
      expect((await backend.pools.claim(POOL, [request, request, request])).map(ids)).toEqual([['a', 'b'], ['c'], []])
      await put(backend, ...Array.from({ length: 50 }, (_, i) => `t${i}`))
      const got = (await Promise.all(Array.from({ length: 30 }, () => claim(backend, 3)))).flat()
      expect(new Set(ids(got)).size).toBe(50)
      expect(got).toHaveLength(50)
    })

    it('matches top-level tags by equality and keeps the order of the other items', async () => {
      const { backend } = await open()
      const tags = {
        a: '{"region":"us","tier":1}',
        b: '{"region":"eu","tier":1,"fast":true}',
        c: '{"region":"eu","tier":"1"}',
        d: '{"region":"eu","tier":1}',
      }
      await backend.pools.put(
        POOL,
        Object.entries(tags).map(([id, text]) => item(id, { tags: text })),
      )
      expect(ids(await claim(backend, 5, { region: 'eu', tier: 1 }))).toEqual(['b', 'd'])
      expect(await claim(backend, 5, { region: 'asia' })).toEqual([])
      expect(await claim(backend, 5, { fast: true })).toEqual([])
      expect(await claim(backend, 5, { toString: 'x' })).toEqual([])
      expect(ids(await claim(backend, 5))).toEqual(['a', 'c'])
    })

    it('no longer matches tags that a later put removed', async () => {
      const { backend } = await open()
      await backend.pools.put(POOL, [item('a', { tags: '{"region":"eu"}' })])
      await put(backend, 'a')
      expect(await claim(backend, 5, { region: 'eu' })).toEqual([])
      expect(ids(await claim(backend, 5))).toEqual(['a'])
    })

    it('examines at most 1,000 items for a match', async () => {
      const { backend } = await open()
      await put(backend, ...Array.from({ length: 1_000 }, (_, i) => `t${i}`))
      await backend.pools.put(POOL, [item('special', { tags: '{"special":true}' })])
      expect(await claim(backend, 1, { special: true })).toEqual([])
      expect(ids(await claim(backend, 1))).toEqual(['t0'])
      expect(ids(await claim(backend, 1, { special: true }))).toEqual(['special'])
    })
  })

  describe(`${name} backend: a large claim`, () => {
    const open = storeFixtures(create)

    it('returns at most 32 MiB, but at least one item, and leaves the rest unclaimed in order', async () => {
      const { backend } = await open()
      const payload = `"${'x'.repeat(9 * 1_048_576)}"`
      for (const id of ['a', 'b', 'c', 'd', 'e'])
        await backend.pools.put(POOL, [item(id, { payload, tags: '{"large":true}' })])
      expect(ids(await claim(backend, 5))).toEqual(['a', 'b', 'c'])
      expect(ids(await claim(backend, 5, { large: true }))).toEqual(['d', 'e'])
      await backend.pools.remove(
        POOL,
        ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, token: null })),
      )
      await backend.pools.put(POOL, [item('whole', { payload: `"${'x'.repeat(40 * 1_048_576)}"` }), item('next')])
      expect(ids((await backend.pools.list(POOL, 5)).items)).toEqual(['whole'])
      expect(ids(await claim(backend, 5))).toEqual(['whole'])
      expect(ids(await claim(backend, 5))).toEqual(['next'])
    }, 30_000)
  })

  describe(`${name} backend: pools.extend and release`, () => {
    const open = storeFixtures(create)

    it('extends a live claim and never shortens it', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a')
      const held = refOf(sole(await claim(backend)))
      const far = clock.wallMs() + HOUR
      expect(await backend.pools.extend(POOL, [{ ...held, holdMs: HOUR }])).toEqual([
        { kind: 'extended', expiresAtMs: far },
      ])
      expect(await backend.pools.extend(POOL, [{ ...held, holdMs: SECOND }])).toEqual([
        { kind: 'extended', expiresAtMs: far },
      ])
      clock.advance(HOUR - 1)
      expect(await claim(backend)).toEqual([])
      clock.advance(1)
      expect(ids(await claim(backend))).toEqual(['a'])
    })

    it('rejects a claim that expired, whether or not the item was claimed again', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a', 'b')
      const [a, b] = (await claim(backend, 2)).map(refOf)
      if (a === undefined || b === undefined) throw new Error('two claims were expected')
      clock.advance(MINUTE)
      const fresh = sole(await claim(backend))
      expect(fresh.id).toBe('a')
      for (const stale of [a, b]) {
        expect(await backend.pools.extend(POOL, [{ ...stale, holdMs: SECOND }])).toEqual([{ kind: 'lease_lost' }])
        expect(await backend.pools.release(POOL, [stale])).toEqual(['lease_lost'])
      }
      expect(
        await backend.pools.release(POOL, [fresh, fresh, { id: 'unknown', token: 1 }, { id: 'b', token: fresh.token }]),
      ).toEqual(['ok', 'lease_lost', 'lease_lost', 'lease_lost'])
    })

    it('keeps items and claims across a restart if and only if it is durable', async () => {
      const { backend, clock } = await open()
      await put(backend, 'a', 'b', 'c')
      const [a, b] = await claim(backend, 2)
      if (a === undefined || b === undefined) throw new Error('two claims were expected')
      await release(backend, [b])
      await reopen(backend)
      const { durable } = backend.capabilities
      expect(await backend.pools.sizes([POOL])).toEqual([durable ? 3 : 0])
      if (!durable) return
      expect(await backend.pools.extend(POOL, [{ ...refOf(a), holdMs: HOUR }])).toEqual([
        { kind: 'extended', expiresAtMs: clock.wallMs() + HOUR },
      ])
      const next = await claim(backend, 5)
      expect(ids(next)).toEqual(['c', 'b'])
      expect(Math.min(...next.map(({ token }) => token))).toBeGreaterThan(b.token)
    })
  })

  describe(`${name} backend: pools.claims`, () => {
    const open = storeFixtures(create)
    const holder = (slotId: number | null, taskId: string | null) => ({ type: 'mailer', slotId, taskId })

    it('lists who holds each item and since when, the first claim to end first (D186)', async () => {
      const { backend, clock } = await open()
      const began = clock.wallMs()
      await put(backend, 'a', 'b', 'c')
      const requests: readonly ClaimRequest[] = [
        { owner: 'w1', holder: holder(3, 't1'), n: 1, holdMs: HOUR, match: {} },
        { owner: 'w2', holder: holder(null, null), n: 1, holdMs: MINUTE, match: {} },
      ]
      const [a, b] = (await backend.pools.claim(POOL, requests)).map(sole)
      if (a === undefined || b === undefined) throw new Error('two claims were expected')
      clock.advance(SECOND)
      await backend.pools.extend(POOL, [
        { ...refOf(a), holdMs: SECOND },
        { ...refOf(a), holdMs: HOUR },
        { ...refOf(b), token: b.token + 1, holdMs: HOUR },
      ])
      expect(await backend.pools.claims(POOL, 10, null)).toEqual({
        inUse: 2,
        claims: [
          {
            ...refOf(b),
            expiresAtMs: began + MINUTE,
            owner: 'w2',
            holder: { ...holder(null, null), claimedAtMs: began, renewals: 0 },
          },
          {
            ...refOf(a),
            expiresAtMs: began + HOUR + SECOND,
            owner: 'w1',
            holder: { ...holder(3, 't1'), claimedAtMs: began, renewals: 2 },
          },
        ],
      })
      expect((await backend.pools.claims(POOL, 1, null)).claims.map(({ id }) => id)).toEqual(['b'])
      expect(await backend.pools.claims(POOL, 1, 'a')).toMatchObject({ inUse: 2, claims: [{ id: 'a' }] })
      expect(await backend.pools.claims(POOL, 1, 'c')).toEqual({ inUse: 2, claims: [] })
      expect(await backend.pools.claims('unknown', 1, null)).toEqual({ inUse: 0, claims: [] })
    })

    it('shows the holder of the newest claim alone, and none of a claim that ended', async () => {
      const { backend, clock } = await open()
      await backend.pools.put(POOL, [item('a'), item('short', { expiresAtMs: clock.wallMs() + SECOND })])
      const hold = async (owner: string, taskId: string | null) =>
        sole(
          await backend.pools.claim(POOL, [
            { owner, holder: taskId === null ? null : holder(0, taskId), n: 2, holdMs: MINUTE, match: {} },
          ]),
        )
      const [first] = await hold('w1', 't1')
      if (first === undefined) throw new Error('a claim was expected')
      await backend.pools.extend(POOL, [{ ...refOf(first), holdMs: MINUTE }])
      clock.advance(SECOND)
      expect(await backend.pools.claims(POOL, 5, null)).toMatchObject({ inUse: 1, claims: [{ id: 'a' }] })
      clock.advance(MINUTE - SECOND)
      expect(await backend.pools.claims(POOL, 5, null)).toEqual({ inUse: 0, claims: [] })
      await hold('w2', null)
      expect((await backend.pools.claims(POOL, 5, null)).claims).toMatchObject([{ owner: 'w2', holder: null }])
      clock.advance(MINUTE)
      await hold('w3', 't3')
      expect((await backend.pools.claims(POOL, 5, null)).claims).toMatchObject([
        { owner: 'w3', holder: { taskId: 't3', renewals: 0, claimedAtMs: clock.wallMs() } },
      ])
    })

    it('ends the claim of another holder by its token, which is lost from then on (G4, D186)', async () => {
      const { backend } = await open()
      await put(backend, 'a')
      const held = sole(await claim(backend))
      const [shown] = (await backend.pools.claims(POOL, 1, 'a')).claims
      expect(shown).toMatchObject({ id: 'a', token: held.token, owner: 'w1' })
      expect(await release(backend, [held])).toEqual(['ok'])
      const next = sole(await claim(backend))
      expect(await backend.pools.extend(POOL, [{ ...refOf(held), holdMs: MINUTE }])).toEqual([{ kind: 'lease_lost' }])
      expect(await release(backend, [held])).toEqual(['lease_lost'])
      expect((await backend.pools.claims(POOL, 1, 'a')).claims).toMatchObject([{ token: next.token }])
    })

    it('keeps the holders across a restart, whatever their names contain', async () => {
      const { backend } = await open()
      await backend.pools.put(
        POOL,
        HOSTILE.map((id) => item(id)),
      )
      await backend.pools.claim(
        POOL,
        HOSTILE.map((owner) => ({
          owner,
          holder: { type: owner, slotId: 1, taskId: owner },
          n: 1,
          holdMs: HOUR,
          match: {},
        })),
      )
      if (backend.capabilities.durable) await reopen(backend)
      const { claims } = await backend.pools.claims(POOL, 1_000, null)
      expect(claims.map(({ owner }) => owner).toSorted()).toEqual(HOSTILE.toSorted())
      for (const { owner, holder: of } of claims) expect(of).toMatchObject({ type: owner, slotId: 1, taskId: owner })
    })
  })
}
