/**
 * @module storage/redis/locks
 * The `locks` of the contract. Three keys per namespace:
 *
 *   {l:N}:h  HASH  name → token:until:owner
 *   {l:N}:x  ZSET  name by the end of its hold
 *   {l:N}:m  HASH  the fence (fence.ts)
 *
 * A hold that has passed is pruned before anything is decided, so whatever is in `h` is held. The namespace keeps its
 * place (namespaces.ts) and its fence while a lock is held, and until a new fence would begin above every token.
 */
import type { Clock } from '../../runtime/index.ts'
import { CHUNKS } from './chunks.ts'
import { FENCE } from './fence.ts'
import { key } from './keys.ts'
import { Namespaces, NEW, type Mark } from './namespaces.ts'
import { PRUNED_PER_CALL, runPruned } from './pruning.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import type { Locks } from '../index.ts'

const MAX_LOCKS = 10_000
/** The clock of the store may go back by so much before a fence that was removed is begun anew. */
const CLOCK_STEP_MS = 60_000

/**
 * `fields` per item, from ARGV[first]; the first of them is the name. `held[name]` is `{token, until, owner}`, as text
 * and number.
 */
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

/** ARGV: mark, run, then name, owner and hold of each. Returns pairs: the token (0: held by another) and until when. */
const ACQUIRE = script(
  'locks.acquire',
  [],
  `
${locksPrelude(4, 3)}
${FENCE}
local fence = redis.call('HMGET', meta, 'f', 'run')
if not fence[1] and ARGV[2] == '0' then return '${NEW}' end
local fresh, added = {}, 0
for _, name in ipairs(names) do
  if not held[name] and not fresh[name] then fresh[name], added = true, added + 1 end
end
if added > 0 and redis.call('HLEN', records) + added > ${MAX_LOCKS} then return redis.error_reply('FULL a namespace holds at most ${MAX_LOCKS} locks') end
local token = newest(fence[1], fence[2], ARGV[3])
local results, taken = {}, {}
for k, name in ipairs(names) do
  if held[name] then
    results[2 * k - 1] = 0
  else
    token = token + 1
    held[name] = {token = int(token), untilMs = now + tonumber(ARGV[3 * k + 3]), owner = ARGV[3 * k + 2]}
    taken[name] = held[name]
    results[2 * k - 1] = token
  end
  results[2 * k] = held[name].untilMs
end
if added > 0 then
  redis.call('HSET', meta, 'f', int(token), 'run', ARGV[3])
  keep(taken)
end
return results
`,
)

/** ARGV: name, token and hold of each. Returns until when; 0: lost. */
const EXTEND = script(
  'locks.extend',
  ['allow-oom'],
  `
${locksPrelude(2, 3)}
local results, changed = {}, {}
for k, name in ipairs(names) do
  local lock = held[name]
  if lock and lock.token == ARGV[3 * k] then
    lock.untilMs = math.max(lock.untilMs, now + tonumber(ARGV[3 * k + 1]))
    changed[name], results[k] = lock, lock.untilMs
  else
    results[k] = 0
  end
end
keep(changed)
return results
`,
)

/** ARGV: name and token of each. Returns 1 for each that was released. */
const RELEASE = script(
  'locks.release',
  ['allow-oom'],
  `
${locksPrelude(2, 2)}
local results, released = {}, {}
for k, name in ipairs(names) do
  local isMine = held[name] and held[name].token == ARGV[2 * k + 1]
  results[k] = isMine and 1 or 0
  if isMine then
    released[#released + 1] = name
    held[name] = nil
  end
end
write('HDEL', records, released)
write('ZREM', ends, released)
return results
`,
)

const IS_EMPTY = script(
  'locks.is_empty',
  ['allow-oom'],
  `
${locksPrelude(2, 1)}
local last = tonumber(redis.call('HGET', meta, 'f') or 0)
if redis.call('EXISTS', records) == 1 or last > (now - ${CLOCK_STEP_MS}) * 1024 then return 0 end
redis.call('DEL', meta)
return 1
`,
)

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
        return token === 0 ? { heldUntilMs: until } : { token, expiresAtMs: until }
      })
    },
    extend: async (namespace, items) => {
      const args = items.flatMap(({ name, token, holdMs }) => [name, token, holdMs])
      const ends = (await runPruned(caller, EXTEND, keysOf(namespace), args, { repeatable: true })) as readonly number[]
      return ends.map((until) => (until === 0 ? 'lease_lost' : { expiresAtMs: until }))
    },
    release: async (namespace, items) => {
      const args = items.flatMap(({ name, token }) => [name, token])
      return ((await runPruned(caller, RELEASE, keysOf(namespace), args)) as readonly number[]).map((was) =>
        was === 1 ? 'ok' : 'lease_lost',
      )
    },
  }
}
