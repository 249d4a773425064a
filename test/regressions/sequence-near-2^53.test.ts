/**
 * Regression: large numbers lost their last digits in JSON or Lua. Tokens, ids and times must stay exact up to 2^53
 * (D24, D30).
 */
import { expect, it } from '@jest/globals'
import type { Lease } from '../../src/storage/index.ts'
import {
  DAY,
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  ids,
  item,
  nack,
  refOf,
  reserve,
  sole,
  submit,
  task,
} from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

/** In the year 2230, tokens (now · 1,024) are within 10 % of 2^53. */
const YEARS = 207 * 365 * DAY
const MANY = 500

onEachBackend('sequence near 2^53', (open) => {
  it('issues exact, growing tokens that settle only their own lease', async () => {
    const { backend, clock } = await open()
    clock.advance(YEARS)
    const all: Lease[] = []
    for (let batch = 0; batch < 4; batch += 1) {
      await submit(backend, ...Array.from({ length: MANY }, (_, i) => task(`${batch}/${i}`)))
      all.push(...(await reserve(backend)))
    }
    const tokens = all.map(({ token }) => token)
    expect(tokens.every(Number.isSafeInteger)).toBe(true)
    expect(new Set(tokens).size).toBe(all.length)
    expect(tokens.toSorted((a, b) => a - b)).toEqual(tokens)
    const next = all.filter((_, i) => i % 2 === 0).slice(0, MANY)
    expect(
      await backend.tasks.ack(
        TYPE,
        next.map(({ id, token }) => ({ id, token: token + 1 })),
      ),
    ).toEqual(next.map(() => 'lease_lost'))
    for (let from = 0; from < all.length; from += MANY) {
      const some = all.slice(from, from + MANY).map(refOf)
      for (let repeat = 0; repeat < 2; repeat += 1)
        expect(await backend.tasks.ack(TYPE, some)).toEqual(some.map(() => 'ok'))
    }
  })

  it('keeps deadlines, due times and windows exact to the millisecond', async () => {
    const { backend, clock } = await open()
    clock.advance(YEARS + 1)
    await submit(backend, task('a', { key: 'k', ttlMs: DAY, maxAttempts: 9 }))
    const lease = sole(await reserve(backend))
    const now = clock.wallMs()
    expect(lease.expiresAtMs).toBe(now + VISIBILITY)
    await nack(backend, [lease], { retryInMs: SECOND + 1 })
    const { results: responses, nextDueAtMs } = await ask(backend, [{ worker: 'w', limit: 1, defaultMaxAttempts: 9 }])
    expect([responses, nextDueAtMs]).toEqual([[{ kind: 'leased', leases: [] }], now + SECOND + 1])
    clock.advance(SECOND)
    expect(await reserve(backend)).toEqual([])
    clock.advance(1)
    expect(ids(await reserve(backend))).toEqual(['a'])
    clock.advance(DAY - SECOND - 2)
    expect(await backend.tasks.submit(TYPE, DAY, [task('b', { key: 'k' })])).toEqual([
      { kind: 'duplicate', duplicateOf: 'a' },
    ])
    clock.advance(1)
    await submit(backend, task('c', { key: 'k' }))
  })

  it('keeps the ids of entries in order, and the tokens of claims and locks distinct', async () => {
    const { backend, clock } = await open()
    clock.advance(YEARS)
    const entries = Array.from({ length: MANY }, (_, i) => `{"n":${i}}`)
    await backend.streams.push(TYPE, 'm1', 1, entries)
    const popped = await backend.streams.pop(TYPE, MANY)
    expect(popped.map(({ entry }) => entry)).toEqual(entries)
    expect(ids(popped).toSorted()).toEqual(ids(popped))
    expect(new Set(ids(popped)).size).toBe(MANY)

    await backend.pools.put(
      'p',
      Array.from({ length: MANY }, (_, i) => item(`i${i}`)),
    )
    const claims = sole(await backend.pools.claim('p', [{ owner: 'w', n: MANY, holdMs: SECOND, match: {} }]))
    expect(new Set(claims.map(({ token }) => token)).size).toBe(MANY)
    expect(await backend.pools.release('p', claims.map(refOf))).toEqual(claims.map(() => 'ok'))
    const locks = await backend.locks.acquire(
      'n',
      ['a', 'b', 'c'].map((name) => ({ name, owner: 'w', holdMs: SECOND })),
    )
    expect(new Set(locks.map((lock) => (lock.kind === 'acquired' ? lock.token : 0))).size).toBe(3)
  })
})
