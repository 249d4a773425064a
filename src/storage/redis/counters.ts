/**
 * @module storage/redis/counters
 * The `counters` of the contract. One hash per namespace, `{c:N}:h`: name → integer.
 *
 * Lua counts in doubles. Two safe integers add up to less than 2^54, where a sum beyond the safe range may be rounded but
 * never back into it, so the comparison is exact.
 */
import { key } from './keys.ts'
import { script } from './script.ts'
import { CHUNKS } from './chunks.ts'
import type { Caller, Reply } from './caller.ts'
import type { Counters } from '../index.ts'

const MAX_COUNTERS = 10_000

/** ARGV: name and delta of each. Answers the sums as text; '': out of range, unchanged. */
const ADD = script(
  'counters.add',
  [],
  `
${CHUNKS}
local names = {}
for k = 2, #ARGV, 2 do names[#names + 1] = ARGV[k] end
local stored, sums, added = read('HMGET', KEYS[1], names), {}, 0
for k, name in ipairs(names) do
  if not stored[k] and not sums[name] then added = added + 1 end
  sums[name] = tonumber(stored[k] or 0)
end
if added > 0 and redis.call('HLEN', KEYS[1]) + added > ${MAX_COUNTERS} then return redis.error_reply('FULL a namespace holds at most ${MAX_COUNTERS} counters') end
local answers, changed = {}, {}
for k, name in ipairs(names) do
  local sum = sums[name] + tonumber(ARGV[2 * k + 1])
  if sum > 9007199254740991 or sum < -9007199254740991 then
    answers[k] = ''
  else
    sums[name], changed[name], answers[k] = sum, true, int(sum)
  end
end
local pairsOf = {}
for name in pairs(changed) do
  pairsOf[#pairsOf + 1] = name
  pairsOf[#pairsOf + 1] = int(sums[name])
end
write('HSET', KEYS[1], pairsOf)
return answers
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

export function createCounters(caller: Caller): Counters {
  const keysOf = (namespace: string): readonly string[] => [key('c', namespace, 'h')]
  return {
    add: async (namespace, items) => {
      const sums = await caller.run(
        ADD,
        keysOf(namespace),
        items.flatMap(({ name, delta }) => [name, delta]),
      )
      return (sums as readonly string[]).map((sum) => (sum === '' ? 'out_of_range' : Number(sum)))
    },
    get: async (namespace, names) =>
      ((await caller.run(GET, keysOf(namespace), names, { repeatable: true })) as readonly Reply[]).map(Number),
  }
}
