/**
 * @module storage/redis/counters
 * The `counters` of the contract. One hash per namespace, `{c:N}:h`: name → integer, without those
 * that are 0.
 *
 * Lua counts in doubles. Two safe integers add up to less than 2^54, where a sum beyond the safe range may be rounded
 * but never back into it, so the comparison is exact.
 */
import { key } from './keys.ts'
import { Namespaces, NEW } from './namespaces.ts'
import { script } from './script.ts'
import { CHUNKS } from './chunks.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Caller, Reply } from './caller.ts'
import type { Counters } from '../index.ts'

const MAX_COUNTERS = 10_000

/** ARGV: mark, then name and delta of each. Returns the sums as text; '': out of range, unchanged. */
const ADD = script(
  'counters.add',
  [],
  `
${CHUNKS}
local names = {}
for k = 3, #ARGV, 2 do names[#names + 1] = ARGV[k] end
local stored, sums, added = read('HMGET', KEYS[1], names), {}, 0
for k, name in ipairs(names) do
  if not stored[k] and not sums[name] then added = added + 1 end
  sums[name] = tonumber(stored[k] or 0)
end
local size = added > 0 and redis.call('HLEN', KEYS[1])
if size == 0 and ARGV[2] == '0' then return '${NEW}' end
if added > 0 and size + added > ${MAX_COUNTERS} then return redis.error_reply('FULL a namespace holds at most ${MAX_COUNTERS} counters') end
local results, changed = {}, {}
for k, name in ipairs(names) do
  local sum = sums[name] + tonumber(ARGV[2 * k + 2])
  if sum > 9007199254740991 or sum < -9007199254740991 then
    results[k] = ''
  else
    sums[name], changed[name], results[k] = sum, true, int(sum)
  end
end
local pairsOf, zeros = {}, {}
for name in pairs(changed) do
  if sums[name] == 0 then
    zeros[#zeros + 1] = name
  else
    pairsOf[#pairsOf + 1] = name
    pairsOf[#pairsOf + 1] = int(sums[name])
  end
end
write('HSET', KEYS[1], pairsOf)
write('HDEL', KEYS[1], zeros)
return results
`,
)

const GET = script(
  'counters.get',
  ['no-writes'],
  `
${CHUNKS}
local names = {}
for k = 2, #ARGV do names[#names + 1] = ARGV[k] end
return read('HMGET', KEYS[1], names)
`,
)

const IS_EMPTY = script(
  'counters.is_empty',
  ['no-writes'],
  `
return 1 - redis.call('EXISTS', KEYS[1])
`,
)

export function createCounters(caller: Caller, clock: Clock): Counters {
  const keysOf = (namespace: string): readonly string[] => [key('c', namespace, 'h')]
  const namespaces = new Namespaces({ caller, clock, kind: 'c', what: 'counters', keysOf, isEmpty: IS_EMPTY })
  return {
    add: async (namespace, items, isOfType = false) => {
      const args = items.flatMap(({ name, delta }) => [name, delta])
      const sums = await namespaces.write(namespace, isOfType, (mark) =>
        caller.run(ADD, keysOf(namespace), [mark, ...args]),
      )
      return (sums as readonly string[]).map((sum) => (sum === '' ? 'out_of_range' : Number(sum)))
    },
    get: async (namespace, names) =>
      ((await caller.run(GET, keysOf(namespace), names, { repeatable: true })) as readonly Reply[]).map(Number),
  }
}
