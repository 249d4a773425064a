#!lua flags=allow-oom
-- Clears the connection of workers, if it is still the given one. Marks those whose process ended in an orderly way.
--
-- KEYS[1..14]  keys of the registry (include/registry.lua)
-- ARGV[1]      time of a test, or ''
-- ARGV[2..]    id, connection, and 1 for an orderly end, of each
-- Returns how many were cleared.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"

local ids = {}
for i = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local conns, sts = redis.call('HMGET', conn, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local cleared, states, ended = {}, {}, {}
for i, id in ipairs(ids) do
  if conns[i] and conns[i] == ARGV[3 * i] then
    local state, _, rest = state_of(sts[i])
    cleared[#cleared + 1] = id
    if ARGV[3 * i + 1] == '1' then ended[#ended + 1] = id end
    states[#states + 1] = id
    states[#states + 1] = state .. ':' .. int(now) .. ':' .. rest
  end
end
if #cleared > 0 then
  redis.call('HDEL', conn, unpack(cleared))
  redis.call('HSET', st, unpack(states))
end
if #ended > 0 then
  local seen = redis.call('HMGET', sn, unpack(ended))
  local marked = {}
  for i, id in ipairs(ended) do
    marked[#marked + 1] = id
    marked[#marked + 1] = '+' .. seen[i]
  end
  redis.call('HSET', sn, unpack(marked))
end
return #cleared
