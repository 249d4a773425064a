/**
 * @module storage/redis/locks
 * The `locks` of the contract. Three keys per namespace:
 *
 *   {l:N}:h  HASH  name → token:until:owner
 *   {l:N}:x  ZSET  name by the end of its hold
 *   {l:N}:m  HASH  the fence (scripts/include/fence.lua)
 *
 * A hold that has passed is pruned before anything is decided, so whatever is in `h` is held. The namespace keeps its
 * place (namespaces.ts) and its fence while a lock is held, and until a new fence would begin above every token.
 */
import type { Clock } from '../../runtime/index.ts'
import { key } from './keys.ts'
import { Namespaces, type Mark } from './namespaces.ts'
import { runPruned } from './pruning.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import { EXTEND_LOST, type Locks } from '../index.ts'

const ACQUIRE = script('locks.acquire')
const EXTEND = script('locks.extend')
const RELEASE = script('locks.release')
const IS_EMPTY = script('locks.is-empty')

export function createLocks(caller: Caller, clock: Clock): Locks {
  const keysOf = (namespace: string): readonly string[] => ['h', 'x', 'm'].map((part) => key('l', namespace, part))
  const namespaces = new Namespaces({ caller, clock, kind: 'l', what: 'locks', keysOf, isEmpty: IS_EMPTY })
  return {
    acquire: async (namespace, items, isOfType = false) => {
      const args = [caller.runId(), ...items.flatMap(({ name, owner, holdMs }) => [name, owner, holdMs])]
      const run = (mark: Mark) => runPruned(caller, ACQUIRE, keysOf(namespace), [mark, ...args])
      const results = (await namespaces.write(namespace, isOfType, run)) as readonly number[]
      return items.map((_, i) => {
        const [token = 0, until = 0] = results.slice(2 * i, 2 * i + 2)
        return token === 0 ? { kind: 'held', untilMs: until } : { kind: 'acquired', token, expiresAtMs: until }
      })
    },
    extend: async (namespace, items) => {
      const args = items.flatMap(({ name, token, holdMs }) => [name, token, holdMs])
      const ends = (await runPruned(caller, EXTEND, keysOf(namespace), args, { repeatable: true })) as readonly number[]
      return ends.map((until) => (until === 0 ? EXTEND_LOST.lease_lost : { kind: 'extended', expiresAtMs: until }))
    },
    release: async (namespace, items) => {
      const args = items.flatMap(({ name, token }) => [name, token])
      return ((await runPruned(caller, RELEASE, keysOf(namespace), args)) as readonly number[]).map((was) =>
        was === 1 ? 'ok' : 'lease_lost',
      )
    },
  }
}
