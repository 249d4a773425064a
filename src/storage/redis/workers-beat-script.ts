/**
 * @module storage/redis/workers-beat-script
 * What arrived on connections since their last flush: seen, state, stats frames.
 *
 * ARGV: most frames of a ring, then per item id, conn, state ('' without a report), report, number of frames, the
 * newest frame in whole ('' when it is the ring's), the ring's frames. KEYS behind the registry's: the ring of each
 * item that brings frames. Returns per item { was, generation as text }; `replaced` and `unknown` write nothing.
 *
 * At the memory limit Redis refuses BEAT as a whole. BEAT_IN_FULL_STORE then does the same with rings of one frame: a
 * fleet still reports its state and receives drains, and what it writes is less than what it frees.
 */
import { REGISTRY, STATE_OF } from './workers-layout.ts'
import { script } from './script.ts'

const BODY = `
${REGISTRY}
${STATE_OF}
local items, ids = {}, {}
local at, ringAt = 3, 12
while at <= #ARGV do
  local item = { id = ARGV[at], conn = ARGV[at + 1], state = ARGV[at + 2], report = ARGV[at + 3], whole = ARGV[at + 5], first = at + 6 }
  item.last = item.first + ARGV[at + 4] - 1
  if item.last >= item.first then
    item.ring = KEYS[ringAt]
    ringAt = ringAt + 1
  end
  items[#items + 1] = item
  ids[#ids + 1] = item.id
  at = item.last + 1
end
local gens, conns = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local drs, sts = redis.call('HMGET', dr, unpack(ids)), redis.call('HMGET', st, unpack(ids))

local results, seen, states, newest, rings, said = {}, {}, {}, {}, {}, {}
local time = int(now)
for i, item in ipairs(items) do
  local id = item.id
  if not gens[i] then
    results[i] = { 'unknown', '0' }
  elseif conns[i] ~= item.conn then
    results[i] = { 'replaced', gens[i] }
  else
    results[i] = { drs[i] and 'drain' or 'ok', gens[i] }
    seen[#seen + 1] = id
    seen[#seen + 1] = time
    if item.state ~= '' then
      local state, since = stateOf(said[id] or sts[i])
      if state ~= item.state and not drs[i] then since = time end
      said[id] = item.state .. ':' .. since .. ':' .. item.report
      states[#states + 1] = id
      states[#states + 1] = said[id]
    end
    if item.ring then
      newest[#newest + 1] = id
      newest[#newest + 1] = item.whole ~= '' and item.whole or ARGV[item.last]
      rings[#rings + 1] = item
    end
  end
end

if #seen > 0 then redis.call('HSET', sn, unpack(seen)) end
if #states > 0 then redis.call('HSET', st, unpack(states)) end
if #newest > 0 then redis.call('HSET', cs, unpack(newest)) end
for _, item in ipairs(rings) do
  redis.call('RPUSH', item.ring, unpack(ARGV, item.first, item.last))
  redis.call('LTRIM', item.ring, '-' .. ARGV[2], '-1')
end
return results
`
export const BEAT = script('workers.beat', [], BODY)
export const BEAT_IN_FULL_STORE = script('workers.beat in a full store', ['allow-oom'], BODY)
