/** Contract of the limit on the number of namespaces of kv, locks and counters (D100). */
import { describe, expect, it } from '@jest/globals'
import { fails, MINUTE, reopen, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import { MAX_NAMESPACES } from '../../../src/storage/index.ts'
import type { Backend } from '../../../src/storage/index.ts'

const CALLS_AT_A_TIME = 100
/** How long an empty namespace counts towards the limit, at most. */
const KEPT_MS = 2 * MINUTE

interface Kind {
  readonly write: (backend: Backend, namespace: string, isOfType?: boolean) => Promise<unknown>
  /** Empties a namespace that was written once. */
  readonly empty: (backend: Backend, namespace: string) => Promise<unknown>
}

const acquire = async (backend: Backend, namespace: string, isOfType?: boolean): Promise<number> => {
  const lock = sole(await backend.locks.acquire(namespace, [{ name: 'a', owner: 'w1', holdMs: 40 * MINUTE }], isOfType))
  return lock.kind === 'acquired' ? lock.token : 0
}
const tokens = new Map<string, number>()
const KINDS: Readonly<Record<'kv' | 'locks' | 'counters', Kind>> = {
  kv: {
    write: (backend, namespace, isOfType) =>
      backend.kv.set(namespace, [{ key: 'a', value: '1', ttlMs: null }], isOfType),
    empty: (backend, namespace) => backend.kv.delete(namespace, ['a']),
  },
  locks: {
    write: async (backend, namespace, isOfType) => tokens.set(namespace, await acquire(backend, namespace, isOfType)),
    empty: (backend, namespace) => backend.locks.release(namespace, [{ name: 'a', token: tokens.get(namespace) ?? 0 }]),
  },
  counters: {
    write: (backend, namespace, isOfType) => backend.counters.add(namespace, [{ name: 'a', delta: 1 }], isOfType),
    empty: (backend, namespace) => backend.counters.add(namespace, [{ name: 'a', delta: -1 }]),
  },
}
const ALL = Object.keys(KINDS) as (keyof typeof KINDS)[]

/** Creates as many namespaces as the limit allows. */
async function fill(write: (namespace: string) => Promise<unknown>, count = MAX_NAMESPACES): Promise<void> {
  for (let from = 0; from < count; from += CALLS_AT_A_TIME) {
    await Promise.all(Array.from({ length: Math.min(CALLS_AT_A_TIME, count - from) }, (_, i) => write(`n${from + i}`)))
  }
}

export function namespaces(name: string, create: Create): void {
  describe.each(ALL)(`${name} backend: namespaces of %s`, (kind) => {
    const open = storeFixtures(create)
    const { write, empty } = KINDS[kind]

    it('are limited to 1,000, but existing namespaces and those of automation types stay writable (D100)', async () => {
      const { backend } = await open()
      await write(backend, 'type', true)
      await fill((namespace) => write(backend, namespace))
      const refused = write(backend, 'one too many')
      await expect(refused).rejects.toEqual(fails('STORAGE_FULL'))
      await expect(refused).rejects.toThrow(
        /"one too many" does not exist, and there are 1000 namespaces.* use one that exists/,
      )
      await write(backend, 'n0')
      await write(backend, 'another type', true)
      await expect(write(backend, 'two too many')).rejects.toEqual(fails('STORAGE_FULL'))
    }, 60_000)

    it('stop counting towards the limit when they are empty (D100)', async () => {
      const { backend, clock } = await open()
      await fill((namespace) => write(backend, namespace))
      await empty(backend, 'n7')
      clock.advance(KEPT_MS)
      await write(backend, 'new')
      await expect(write(backend, 'n7')).rejects.toEqual(fails('STORAGE_FULL'))
      await empty(backend, 'new')
      clock.advance(KEPT_MS)
      await write(backend, 'n7')
    }, 60_000)

    it('stay writable above the limit when they already exist (D100)', async () => {
      const { backend } = await open()
      await fill((namespace) => write(backend, namespace, true), MAX_NAMESPACES + 1)
      if (backend.capabilities.durable) await reopen(backend)
      await fill((namespace) => write(backend, namespace), MAX_NAMESPACES + 1)
    }, 60_000)
  })

  describe(`${name} backend: namespaces whose entries expire`, () => {
    const open = storeFixtures(create)

    it('stop counting towards the limit (D100)', async () => {
      const { backend, clock } = await open()
      await fill((namespace) =>
        backend.kv.set(namespace, [{ key: 'a', value: '1', ttlMs: namespace === 'n7' ? MINUTE : null }]),
      )
      await fill((namespace) => backend.locks.acquire(namespace, [{ name: 'a', owner: 'w1', holdMs: MINUTE }]))
      clock.advance(MINUTE + KEPT_MS)
      for (const { write } of [KINDS.kv, KINDS.locks]) await write(backend, 'new')
      await expect(KINDS.kv.write(backend, 'one too many')).rejects.toEqual(fails('STORAGE_FULL'))
      await fill((namespace) => KINDS.locks.write(backend, `new ${namespace}`), MAX_NAMESPACES - 1)
    }, 60_000)

    it('never issue a token twice', async () => {
      const { backend, clock } = await open()
      clock.advance(MINUTE) // A new fence begins at a multiple of 2^20, which is then 416 ms ahead of the clock.
      await fill((namespace) => KINDS.locks.write(backend, namespace))
      const before = tokens.get('n7') ?? 0
      await KINDS.locks.empty(backend, 'n7')
      const isEarly = await KINDS.locks.write(backend, 'new').then(
        () => true,
        () => false,
      )
      if (!isEarly) {
        clock.advance(KEPT_MS)
        await KINDS.locks.write(backend, 'new')
      }
      await KINDS.locks.empty(backend, 'new')
      clock.advance(isEarly ? 0 : KEPT_MS)
      expect(await acquire(backend, 'n7')).toBeGreaterThan(before)
    }, 60_000)

    it('are not created by reads, deletions and releases', async () => {
      const { backend } = await open()
      await fill(async (namespace) => {
        await backend.kv.get(namespace, ['a'])
        await backend.kv.delete(namespace, ['a'])
        await backend.locks.extend(namespace, [{ name: 'a', token: 1, holdMs: MINUTE }])
        await backend.locks.release(namespace, [{ name: 'a', token: 1 }])
        await backend.counters.get(namespace, ['a'])
      })
      for (const kind of ALL) await KINDS[kind].write(backend, 'new')
    }, 60_000)
  })
}
