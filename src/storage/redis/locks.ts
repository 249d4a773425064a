/**
 * @module storage/redis/locks
 * The `locks` of the contract. Three keys per namespace:
 *
 *   {l:N}:h  HASH  name → token:until:owner
 *   {l:N}:x  ZSET  name by the end of its hold
 *   {l:N}:m  HASH  the fence (fence.ts)
 *
 * A hold that has passed is pruned before anything is decided, so whatever is in `h` is held.
 */
import { CHUNKS } from './chunks.ts'
import { FENCE } from './fence.ts'
import { key } from './keys.ts'
import { PRUNED_PER_CALL, runPruned } from './pruning.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import type { Locks } from '../index.ts'

const MAX_LOCKS = 10_000

/** `fields` per item, from ARGV[first]; the first of them is the name. `held[name]` is `{token, until, owner}`, as text and number. */
const locksPrelude = (first: number, fields: number): string => `
local records, ends, meta = KEYS[1], KEYS[2], KEYS[3]
${CHUNKS}
local ended = redis.call('ZRANGE', ends, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ${PRUNED_PER_CALL})
write('HDEL', records, ended)
write('ZREM', ends, ended)
if #ended == ${PRUNED_PER_CALL} then return false end
local names, held = {}, {}
for k = ${first}, #ARGV, ${fields} do names[#names + 1] = ARGV[k] end
for k, record in ipairs(read('HMGET', records, names)) do
  if record then
    local token, untilMs, owner = string.match(record, '^(%d+):(%d+):(.*)$')
    held[names[k]] = {token = token, untilMs = tonumber(untilMs), owner = owner}
  end
end
local function keep(changed)
  local texts, times = {}, {}
  for name, lock in pairs(changed) do
    texts[#texts + 1] = name
    texts[#texts + 1] = lock.token .. ':' .. int(lock.untilMs) .. ':' .. lock.owner
    times[#times + 1] = int(lock.untilMs)
    times[#times + 1] = name
  end
  write('HSET', records, texts)
  write('ZADD', ends, times)
end
`

/** ARGV: run, then name, owner and hold of each. Answers pairs: the token (0: held by another) and until when. */
const ACQUIRE = script(
  'locks.acquire',
  [],
  `
${locksPrelude(3, 3)}
${FENCE}
local fresh, added = {}, 0
for _, name in ipairs(names) do
  if not held[name] and not fresh[name] then fresh[name], added = true, added + 1 end
end
if added > 0 and redis.call('HLEN', records) + added > ${MAX_LOCKS} then return redis.error_reply('FULL a namespace holds at most ${MAX_LOCKS} locks') end
local fence = redis.call('HMGET', meta, 'f', 'run')
local token = newest(fence[1], fence[2], ARGV[2])
local answers, taken = {}, {}
for k, name in ipairs(names) do
  if held[name] then
    answers[2 * k - 1] = 0
  else
    token = token + 1
    held[name] = {token = int(token), untilMs = now + tonumber(ARGV[3 * k + 2]), owner = ARGV[3 * k + 1]}
    taken[name] = held[name]
    answers[2 * k - 1] = token
  end
  answers[2 * k] = held[name].untilMs
end
if added > 0 then
  redis.call('HSET', meta, 'f', int(token), 'run', ARGV[2])
  keep(taken)
end
return answers
`,
)

/** ARGV: name, token and hold of each. Answers until when; 0: lost. */
const EXTEND = script(
  'locks.extend',
  ['allow-oom'],
  `
${locksPrelude(2, 3)}
local answers, changed = {}, {}
for k, name in ipairs(names) do
  local lock = held[name]
  if lock and lock.token == ARGV[3 * k] then
    lock.untilMs = math.max(lock.untilMs, now + tonumber(ARGV[3 * k + 1]))
    changed[name], answers[k] = lock, lock.untilMs
  else
    answers[k] = 0
  end
end
keep(changed)
return answers
`,
)

/** ARGV: name and token of each. Answers 1 for each that was released. */
const RELEASE = script(
  'locks.release',
  ['allow-oom'],
  `
${locksPrelude(2, 2)}
local answers, released = {}, {}
for k, name in ipairs(names) do
  local isMine = held[name] and held[name].token == ARGV[2 * k + 1]
  answers[k] = isMine and 1 or 0
  if isMine then
    released[#released + 1] = name
    held[name] = nil
  end
end
write('HDEL', records, released)
write('ZREM', ends, released)
return answers
`,
)

export function createLocks(caller: Caller): Locks {
  const keysOf = (namespace: string): readonly string[] => ['h', 'x', 'm'].map((part) => key('l', namespace, part))
  return {
    acquire: async (namespace, items) => {
      const args = [caller.runId(), ...items.flatMap(({ name, owner, holdMs }) => [name, owner, holdMs])]
      const answers = (await runPruned(caller, ACQUIRE, keysOf(namespace), args)) as readonly number[]
      return items.map((_, i) => {
        const [token = 0, until = 0] = answers.slice(2 * i, 2 * i + 2)
        return token === 0 ? { heldUntil: until } : { token, until }
      })
    },
    extend: async (namespace, items) => {
      const args = items.flatMap(({ name, token, holdMs }) => [name, token, holdMs])
      const ends = (await runPruned(caller, EXTEND, keysOf(namespace), args, { repeatable: true })) as readonly number[]
      return ends.map((until) => (until === 0 ? 'lease_lost' : { until }))
    },
    release: async (namespace, items) => {
      const args = items.flatMap(({ name, token }) => [name, token])
      return ((await runPruned(caller, RELEASE, keysOf(namespace), args)) as readonly number[]).map((was) =>
        was === 1 ? 'ok' : 'lease_lost',
      )
    },
  }
}
