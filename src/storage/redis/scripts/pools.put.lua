#!lua
-- Adds or replaces items.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   id, expiry in ms ('' never), lines for matching ('' none) and record of each
-- Returns 1 for each new item, else 0. nil: 500 entries were pruned; run it again.
--- @include "int"
--- @include "pool"

local MAX_ITEMS = 100000

local ids = {}
for k = 2, #ARGV, 4 do ids[#ids + 1] = ARGV[k] end
local known, newest, created, results = read('ZMSCORE', puts, ids), {}, {}, {}
for k, id in ipairs(ids) do
  local isNew = not known[k] and not newest[id]
  if isNew then created[#created + 1] = id end
  newest[id], results[k] = k, isNew and 1 or 0
end
if #created > 0 and redis.call('ZCARD', puts) + #created > MAX_ITEMS then
  return redis.error_reply('FULL a pool holds at most ' .. MAX_ITEMS .. ' items; remove some first')
end
local put = tonumber(redis.call('HGET', meta, 'puts') or 0)
local bodies, lines, plain, ending, endless, order, unused = {}, {}, {}, {}, {}, {}, {}
local function add(list, first, second)
  list[#list + 1] = first
  list[#list + 1] = second
end
for id, k in pairs(newest) do
  local at = 4 * k - 2
  add(bodies, id, ARGV[at + 3])
  if ARGV[at + 2] == '' then plain[#plain + 1] = id else add(lines, id, ARGV[at + 2]) end
  if ARGV[at + 1] == '' then endless[#endless + 1] = id else add(ending, ARGV[at + 1], id) end
end
for _, id in ipairs(created) do
  put = put + 1
  add(order, int(put), id)
  add(unused, int(put - 9007199254740992), id)
end
if #created > 0 then redis.call('HSET', meta, 'puts', int(put)) end
write('HSET', records, bodies)
write('HSET', tags, lines)
write('HDEL', tags, plain)
write('ZADD', expiry, ending)
write('ZREM', expiry, endless)
write('ZADD', puts, order)
write('ZADD', free, unused)
return results
