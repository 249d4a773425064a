-- Stores what workers reported since their last flush: when they were seen, their state, their stats frames. It is the
-- whole body of workers.beat and workers.beat-in-full-store. `replaced` and `unknown` write nothing.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"
local items, ids = {}, {}
local at, ringAt = 3, 17
while at <= #ARGV do
  local item = { id = ARGV[at], conn = ARGV[at + 1], state = ARGV[at + 2], report = ARGV[at + 3] }
  item.whole, item.first = ARGV[at + 5], at + 6
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
local labels = redis.call('HMGET', rv, unpack(ids))
-- The revision that wrote this generation.
local function written_by(label, gen)
  local written, revision = string.match(label or '', '^(%d+):([^/]*)/')
  return written == gen and revision or nil
end

local results, seen, states, newest, rings, said = {}, {}, {}, {}, {}, {}
local time = int(now)
for i, item in ipairs(items) do
  local id = item.id
  if not gens[i] then
    results[i] = { 'unknown', '0' }
  elseif conns[i] ~= item.conn then
    results[i] = { 'replaced', gens[i] }
  else
    results[i] = { drs[i] and 'drain' or 'ok', gens[i], written_by(labels[i], gens[i]) }
    seen[#seen + 1] = id
    seen[#seen + 1] = time
    if item.state ~= '' then
      local state, since = state_of(said[id] or sts[i])
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
