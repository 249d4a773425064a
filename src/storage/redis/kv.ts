/**
 * @module storage/redis/kv
 * The `kv` of the contract. Two keys per namespace:
 *
 *   {k:N}:v  HASH  key → text
 *   {k:N}:x  ZSET  key by expiry, of those alone that have one
 */
import { FleetError, MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { key } from './keys.ts'
import { Namespaces } from './namespaces.ts'
import { runPruned } from './pruning.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import type { Kv } from '../index.ts'

const GET = script('kv.get')
const SET = script('kv.set')
const DELETE = script('kv.delete')
const IS_EMPTY = script('kv.is-empty')

export function createKv(caller: Caller, clock: Clock): Kv {
  const keysOf = (namespace: string): readonly string[] => [key('k', namespace, 'v'), key('k', namespace, 'x')]
  const namespaces = new Namespaces({ caller, clock, kind: 'k', what: 'keys', keysOf, isEmpty: IS_EMPTY })
  return {
    get: async (namespace, keys) =>
      (await runPruned(caller, GET, keysOf(namespace), keys, { repeatable: true })) as readonly (string | null)[],
    set: async (namespace, items, isOfType = false) => {
      const tooLarge = items.find(({ value }) => Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
      if (tooLarge !== undefined)
        throw new FleetError(
          'STORAGE_FULL',
          `the value of ${JSON.stringify(tooLarge.key)} exceeds ${MAX_KV_VALUE_BYTES} bytes`,
          { outcome: 'not_sent' },
        )
      const args = items.flatMap(({ key: name, value, ttlMs }) => [name, ttlMs ?? '', value])
      await namespaces.write(namespace, isOfType, (mark) => runPruned(caller, SET, keysOf(namespace), [mark, ...args]))
    },
    delete: async (namespace, keys) =>
      ((await runPruned(caller, DELETE, keysOf(namespace), keys)) as readonly number[]).map((was) => was === 1),
  }
}
