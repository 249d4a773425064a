/**
 * @module storage/redis/kv
 * The `kv` of the contract. Two keys per namespace:
 *
 *   {k:N}:v  HASH  key → text
 *   {k:N}:x  ZSET  key by expiry, of those alone that have one
 */
import { FleetError, MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import { CHUNKS } from './chunks.ts'
import { key } from './keys.ts'
import { PRUNED_PER_CALL, runPruned } from './pruning.ts'
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

/** ARGV: key, ttl ('' none) and text of each. Which keys are new is asked only where that decides. */
const SET = script(
  'kv.set',
  [],
  `
${KV}
local newest, count = {}, 0
for k = 2, #ARGV, 3 do
  if not newest[ARGV[k]] then count = count + 1 end
  newest[ARGV[k]] = k
end
local room = ${MAX_KEYS} - redis.call('HLEN', values)
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

/** ARGV: keys. Answers 1 for each that was there. One HDEL each: a reply that counts, without the value. */
const DELETE = script(
  'kv.delete',
  ['allow-oom'],
  `
${KV}
local answers, names = {}, {}
for k = 2, #ARGV do
  names[#names + 1] = ARGV[k]
  answers[#answers + 1] = redis.call('HDEL', values, ARGV[k])
end
write('ZREM', expiry, names)
return answers
`,
)

export function createKv(caller: Caller): Kv {
  const keysOf = (namespace: string): readonly string[] => [key('k', namespace, 'v'), key('k', namespace, 'x')]
  return {
    get: async (namespace, keys) =>
      (await runPruned(caller, GET, keysOf(namespace), keys, { repeatable: true })) as readonly (string | null)[],
    set: async (namespace, items) => {
      const tooLarge = items.find(({ value }) => Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
      if (tooLarge !== undefined)
        throw new FleetError(
          'STORAGE_FULL',
          `the value of ${JSON.stringify(tooLarge.key)} exceeds ${MAX_KV_VALUE_BYTES} bytes`,
          { outcome: 'not_sent' },
        )
      await runPruned(
        caller,
        SET,
        keysOf(namespace),
        items.flatMap(({ key: name, value, ttlMs }) => [name, ttlMs ?? '', value]),
      )
    },
    delete: async (namespace, keys) =>
      ((await runPruned(caller, DELETE, keysOf(namespace), keys)) as readonly number[]).map((was) => was === 1),
  }
}
