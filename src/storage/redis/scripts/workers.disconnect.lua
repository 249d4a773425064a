#!lua flags=allow-oom
-- Clears the connection of workers, if it is still the given one.
--
-- KEYS[1..14]  keys of the registry (include/registry.lua)
-- ARGV[1]      time of a test, or ''
-- ARGV[2..]    id and connection of each
-- Returns how many were cleared.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"

local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local conns, sts = redis.call('HMGET', conn, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local cleared, states = {}, {}
for i, id in ipairs(ids) do
  if conns[i] and conns[i] == ARGV[2 * i + 1] then
    local state, _, rest = state_of(sts[i])
    cleared[#cleared + 1] = id
    states[#states + 1] = id
    states[#states + 1] = state .. ':' .. int(now) .. ':' .. rest
  end
end
if #cleared > 0 then
  redis.call('HDEL', conn, unpack(cleared))
  redis.call('HSET', st, unpack(states))
end
return #cleared
