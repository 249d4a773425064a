/** Contract of the primitives for plugins: key-value store, locks and counters. */
import { describe, expect, it } from '@jest/globals'
import { HOSTILE, HOUR, MINUTE, SECOND, fails, reopen, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend } from '../../../src/storage/index.ts'

const NS = 'render'
const MAX = Number.MAX_SAFE_INTEGER

export function primitives(name: string, create: Create): void {
  describe(`${name} backend: kv`, () => {
    const open = storeFixtures(create)
    const set = (backend: Backend, key: string, value: string, ttlMs: number | null = null) =>
      backend.kv.set(NS, [{ key, value, ttlMs }])

    it('keeps a value until its key is set again or deleted', async () => {
      const { backend } = await open()
      await backend.kv.set(NS, [
        { key: 'a', value: '1', ttlMs: null },
        { key: 'b', value: 'null', ttlMs: null },
        { key: 'a', value: '2', ttlMs: null },
      ])
      expect(await backend.kv.get(NS, ['a', 'b', 'c', 'a'])).toEqual(['2', 'null', null, '2'])
      expect(await backend.kv.delete(NS, ['a', 'c', 'a'])).toEqual([true, false, false])
      expect(await backend.kv.get(NS, ['a', 'b'])).toEqual([null, 'null'])
    })

    it('removes a value when its TTL expires', async () => {
      const { backend, clock } = await open()
      await set(backend, 'a', '1', MINUTE)
      clock.advance(MINUTE - 1)
      expect(await backend.kv.get(NS, ['a'])).toEqual(['1'])
      clock.advance(1)
      expect(await backend.kv.get(NS, ['a'])).toEqual([null])
      await set(backend, 'b', '1', MINUTE)
      clock.advance(MINUTE)
      expect(await backend.kv.delete(NS, ['b'])).toEqual([false])
    })

    it('uses the TTL of the newest set, or none', async () => {
      const { backend, clock } = await open()
      for (const key of ['a', 'b', 'c']) await set(backend, key, '1', MINUTE)
      await set(backend, 'a', '2')
      await set(backend, 'b', '2', HOUR)
      clock.advance(MINUTE)
      expect(await backend.kv.get(NS, ['a', 'b', 'c'])).toEqual(['2', '2', null])
    })

    it('keeps namespaces and keys with hostile names apart', async () => {
      const { backend } = await open()
      for (const ns of HOSTILE)
        await backend.kv.set(
          ns,
          HOSTILE.map((key) => ({ key, value: JSON.stringify([ns, key]), ttlMs: null })),
        )
      for (const ns of HOSTILE)
        expect(await backend.kv.get(ns, HOSTILE)).toEqual(HOSTILE.map((key) => JSON.stringify([ns, key])))
      expect(await backend.kv.get(NS, HOSTILE)).toEqual(HOSTILE.map(() => null))
    })

    it('rejects a value over 256 KiB and sets none of the call', async () => {
      const { backend } = await open()
      const value = (bytes: number): string => `"${'ä'.repeat((bytes - 2) / 2)}"`
      await set(backend, 'a', value(262_144))
      await expect(
        backend.kv.set(NS, [
          { key: 'b', value: '1', ttlMs: null },
          { key: 'a', value: value(262_146), ttlMs: null },
        ]),
      ).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await backend.kv.get(NS, ['b', 'a'])).toEqual([null, value(262_144)])
    })

    it('rejects more than 100,000 keys in a namespace, not counting expired ones', async () => {
      const { backend, clock } = await open()
      const fill = (from: number, n: number, ttlMs: number | null) =>
        backend.kv.set(
          NS,
          Array.from({ length: n }, (_, i) => ({ key: `k${from + i}`, value: '1', ttlMs })),
        )
      for (let i = 0; i < 10; i += 1) await fill(i * 10_000, 10_000, i === 0 ? MINUTE : null)
      await expect(fill(99_999, 2, null)).rejects.toEqual(fails('STORAGE_FULL'))
      await fill(99_990, 10, null)
      await backend.kv.set('other', [{ key: 'a', value: '1', ttlMs: null }])
      clock.advance(MINUTE)
      await fill(100_000, 10_000, null)
      await expect(fill(200_000, 1, null)).rejects.toEqual(fails('STORAGE_FULL'))
      await backend.kv.delete(NS, ['k10000'])
      await fill(109_999, 2, null) // The first of the two exists.
    }, 60_000)

    it('keeps values across a restart if and only if it is durable', async () => {
      const { backend, clock } = await open()
      await set(backend, 'a', '1')
      await set(backend, 'b', '1', MINUTE)
      await reopen(backend)
      const kept = backend.capabilities.durable ? '1' : null
      expect(await backend.kv.get(NS, ['a', 'b'])).toEqual([kept, kept])
      clock.advance(MINUTE)
      expect(await backend.kv.get(NS, ['a', 'b'])).toEqual([kept, null])
    })
  })

  describe(`${name} backend: locks`, () => {
    const open = storeFixtures(create)
    const acquire = async (backend: Backend, lock: string, holdMs = MINUTE, owner = 'w1') =>
      sole(await backend.locks.acquire(NS, [{ name: lock, owner, holdMs }]))
    const held = async (backend: Backend, lock: string) => {
      const answer = await acquire(backend, lock)
      if (answer.kind === 'held') throw new Error('the lock was expected to be free')
      return answer.token
    }

    it('grants a free lock to one caller, with a token that only grows', async () => {
      const { backend, clock } = await open()
      const until = clock.wallMs() + MINUTE
      expect(
        await backend.locks.acquire(
          NS,
          ['a', 'b', 'a'].map((lock) => ({ name: lock, owner: 'w1', holdMs: MINUTE })),
        ),
      ).toEqual([
        { kind: 'acquired', token: expect.any(Number), expiresAtMs: until },
        { kind: 'acquired', token: expect.any(Number), expiresAtMs: until },
        { kind: 'held', untilMs: until },
      ])
      clock.advance(MINUTE - 1)
      expect(await acquire(backend, 'a')).toEqual({ kind: 'held', untilMs: until })
      clock.advance(1)
      const first = await held(backend, 'a')
      await backend.locks.release(NS, [{ name: 'a', token: first }])
      expect(await held(backend, 'a')).toBeGreaterThan(first)
    })

    it('is not re-entrant, also for the same owner', async () => {
      const { backend, clock } = await open()
      await acquire(backend, 'a')
      expect(await acquire(backend, 'a')).toEqual({ kind: 'held', untilMs: clock.wallMs() + MINUTE })
    })

    it('grants a lock to exactly one of many callers', async () => {
      const { backend } = await open()
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => acquire(backend, 'a', MINUTE, `w${i}`)))
      expect(results.filter(({ kind }) => kind === 'acquired')).toHaveLength(1)
    })

    it('extends and releases only with the current token', async () => {
      const { backend, clock } = await open()
      const stale = await held(backend, 'a')
      clock.advance(MINUTE)
      const token = await held(backend, 'a')
      for (const wrong of [stale, token + 1_000_000_000, 0]) {
        expect(await backend.locks.extend(NS, [{ name: 'a', token: wrong, holdMs: HOUR }])).toEqual([
          { kind: 'lease_lost' },
        ])
        expect(await backend.locks.release(NS, [{ name: 'a', token: wrong }])).toEqual(['lease_lost'])
      }
      expect(
        await backend.locks.extend(NS, [
          { name: 'a', token, holdMs: HOUR },
          { name: 'unknown', token, holdMs: HOUR },
        ]),
      ).toEqual([{ kind: 'extended', expiresAtMs: clock.wallMs() + HOUR }, { kind: 'lease_lost' }])
      expect(await backend.locks.extend(NS, [{ name: 'a', token, holdMs: SECOND }])).toEqual([
        { kind: 'extended', expiresAtMs: clock.wallMs() + HOUR },
      ])
      expect(
        await backend.locks.release(NS, [
          { name: 'a', token },
          { name: 'a', token },
        ]),
      ).toEqual(['ok', 'lease_lost'])
    })

    it('is lost when its lease expires, whether or not another owner acquired it', async () => {
      const { backend, clock } = await open()
      const token = await held(backend, 'a')
      clock.advance(MINUTE)
      expect(await backend.locks.extend(NS, [{ name: 'a', token, holdMs: HOUR }])).toEqual([{ kind: 'lease_lost' }])
      expect(await backend.locks.release(NS, [{ name: 'a', token }])).toEqual(['lease_lost'])
    })

    it('keeps namespaces and locks with hostile names apart', async () => {
      const { backend } = await open()
      for (const ns of HOSTILE)
        expect(
          (
            await backend.locks.acquire(
              ns,
              HOSTILE.map((lock) => ({ name: lock, owner: 'w1', holdMs: MINUTE })),
            )
          ).every((answer) => 'token' in answer),
        ).toBe(true)
    })

    it('rejects more than 10,000 held locks in a namespace, not counting expired ones', async () => {
      const { backend, clock } = await open()
      const many = (from: number, n: number) =>
        Array.from({ length: n }, (_, i) => ({ name: `l${from + i}`, owner: 'w1', holdMs: MINUTE }))
      await backend.locks.acquire(NS, many(0, 9_999))
      await expect(backend.locks.acquire(NS, many(9_999, 2))).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await acquire(backend, 'l9999')).toMatchObject({ token: expect.any(Number) })
      expect(await acquire(backend, 'l0')).toMatchObject({ kind: 'held' })
      clock.advance(MINUTE)
      await backend.locks.acquire(NS, many(20_000, 10_000))
    }, 60_000)

    it('keeps locks across a restart if and only if it is durable, and never issues a token twice', async () => {
      const { backend } = await open()
      const token = await held(backend, 'a')
      await reopen(backend)
      const again = await acquire(backend, 'a')
      expect(again.kind === 'held').toBe(backend.capabilities.durable)
      expect(await held(backend, 'b')).toBeGreaterThan(token)
    })
  })

  describe(`${name} backend: counters`, () => {
    const open = storeFixtures(create)
    const add = async (backend: Backend, counter: string, delta: number) =>
      sole(await backend.counters.add(NS, [{ name: counter, delta }]))

    it('starts at 0 and adds', async () => {
      const { backend } = await open()
      expect(await backend.counters.get(NS, ['a'])).toEqual([0])
      expect(
        await backend.counters.add(NS, [
          { name: 'a', delta: 5 },
          { name: 'b', delta: -2 },
          { name: 'a', delta: -7 },
          { name: 'a', delta: 0 },
        ]),
      ).toEqual([5, -2, -2, -2])
      expect(await backend.counters.get(NS, ['a', 'b', 'c', 'a'])).toEqual([-2, -2, 0, -2])
    })

    it('removes a counter that becomes 0, which frees capacity for another', async () => {
      const { backend } = await open()
      const many = (from: number, n: number, delta: number) =>
        Array.from({ length: n }, (_, i) => ({ name: `c${from + i}`, delta }))
      await backend.counters.add(NS, many(0, 10_000, 1))
      await expect(add(backend, 'more', 1)).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await add(backend, 'c0', -1)).toBe(0)
      expect(await backend.counters.get(NS, ['c0', 'c1'])).toEqual([0, 1])
      expect(
        await backend.counters.add(NS, [
          { name: 'more', delta: 1 },
          { name: 'more', delta: -1 },
          { name: 'more', delta: 2 },
        ]),
      ).toEqual([1, 0, 2])
      expect(await backend.counters.get(NS, ['more'])).toEqual([2])
    }, 60_000)

    it('counts every concurrent add', async () => {
      const { backend } = await open()
      const results = await Promise.all(Array.from({ length: 100 }, () => add(backend, 'a', 1)))
      expect(results.toSorted((x, y) => Number(x) - Number(y))).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
    })

    it('stays unchanged when the sum would leave the safe integers', async () => {
      const { backend } = await open()
      expect(await add(backend, 'a', MAX)).toBe(MAX)
      expect(
        await backend.counters.add(NS, [
          { name: 'a', delta: 1 },
          { name: 'a', delta: MAX },
          { name: 'a', delta: -1 },
        ]),
      ).toEqual(['out_of_range', 'out_of_range', MAX - 1])
      expect(await add(backend, 'b', -MAX)).toBe(-MAX)
      expect(await add(backend, 'b', -1)).toBe('out_of_range')
      expect(await backend.counters.get(NS, ['a', 'b'])).toEqual([MAX - 1, -MAX])
    })

    it('keeps namespaces and counters with hostile names apart', async () => {
      const { backend } = await open()
      for (const [i, ns] of HOSTILE.entries())
        await backend.counters.add(
          ns,
          HOSTILE.map((counter, k) => ({ name: counter, delta: 100 * i + k })),
        )
      for (const [i, ns] of HOSTILE.entries())
        expect(await backend.counters.get(ns, HOSTILE)).toEqual(HOSTILE.map((_, k) => 100 * i + k))
    })

    it('rejects more than 10,000 counters in a namespace and adds none of the call', async () => {
      const { backend } = await open()
      const many = (from: number, n: number) =>
        Array.from({ length: n }, (_, i) => ({ name: `c${from + i}`, delta: 1 }))
      await backend.counters.add(NS, many(0, 9_999))
      await expect(backend.counters.add(NS, many(9_998, 3))).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await backend.counters.get(NS, ['c9998', 'c9999'])).toEqual([1, 0])
      expect(await backend.counters.add(NS, many(9_998, 2))).toEqual([2, 1])
    }, 60_000)

    it('keeps counters across a restart if and only if it is durable', async () => {
      const { backend } = await open()
      await add(backend, 'a', 5)
      await reopen(backend)
      expect(await backend.counters.get(NS, ['a'])).toEqual([backend.capabilities.durable ? 5 : 0])
    })
  })
}
