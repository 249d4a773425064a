/**
 * @module storage/redis/kv
 * The `kv` of the contract. Two keys per namespace:
 *
 *   {k:N}:v  HASH  key → text
 *   {k:N}:x  ZSET  key by expiry, of those alone that have one
 */
import { FleetError, MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { CHUNKS } from './chunks.ts'
import { key } from './keys.ts'
import { Namespaces, NEW } from './namespaces.ts'
import { PRUNED_PER_CALL, runPruned } from './pruning.ts'
import { RESERVE } from './reserve.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import type { Kv } from '../index.ts'

const MAX_KEYS = 100_000

const KV = `
local values, expiry = KEYS[1], KEYS[2]
${CHUNKS}
local ended = redis.call('ZRANGE', expiry, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ${PRUNED_PER_CALL})
write('HDEL', values, ended)
write('ZREM', expiry, ended)
if #ended == ${PRUNED_PER_CALL} then return false end
`

/** ARGV: keys. */
const GET = script(
  'kv.get',
  ['allow-oom'],
  `
${KV}
local names = {}
for k = 2, #ARGV do names[#names + 1] = ARGV[k] end
return read('HMGET', values, names)
`,
)

/** ARGV: mark, then key, ttl ('' none) and text of each. Which keys are new is asked only where that decides. */
const SET = script(
  'kv.set',
  [],
  `
${KV}
${RESERVE}
local size = redis.call('HLEN', values)
if size == 0 and ARGV[2] == '0' then return '${NEW}' end
if is_reserved() then return redis.error_reply(RESERVED) end
local newest, count = {}, 0
for k = 3, #ARGV, 3 do
  if not newest[ARGV[k]] then count = count + 1 end
  newest[ARGV[k]] = k
end
local room = ${MAX_KEYS} - size
if count > room then
  for name in pairs(newest) do count = count - redis.call('HEXISTS', values, name) end
  if count > 0 and count > room then return redis.error_reply('FULL a namespace holds at most ${MAX_KEYS} keys; delete some, or give them a time to live') end
end
local texts, ends, endless = {}, {}, {}
for name, k in pairs(newest) do
  texts[#texts + 1] = name
  texts[#texts + 1] = ARGV[k + 2]
  if ARGV[k + 1] == '' then
    endless[#endless + 1] = name
  else
    ends[#ends + 1] = int(now + tonumber(ARGV[k + 1]))
    ends[#ends + 1] = name
  end
end
write('HSET', values, texts)
write('ZADD', expiry, ends)
write('ZREM', expiry, endless)
return 'ok'
`,
)

/** ARGV: keys. Returns 1 for each that was there. One HDEL each: a reply that counts, without the value. */
const DELETE = script(
  'kv.delete',
  ['allow-oom'],
  `
${KV}
local results, names = {}, {}
for k = 2, #ARGV do
  names[#names + 1] = ARGV[k]
  results[#results + 1] = redis.call('HDEL', values, ARGV[k])
end
write('ZREM', expiry, names)
return results
`,
)

const IS_EMPTY = script(
  'kv.is_empty',
  ['allow-oom'],
  `
${KV}
return 1 - redis.call('EXISTS', values)
`,
)

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
