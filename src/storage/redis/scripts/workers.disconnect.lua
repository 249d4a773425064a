#!lua flags=allow-oom
-- Clears the connection of workers, if it is still the given one. Marks those whose process ended in an orderly way.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[1]      time of a test, or ''
-- ARGV[2..]    of each: id, connection, 1 for an orderly end, and how it ended, `by:code:reason` or ''
-- Returns how many were cleared.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"
--- @include "drain-request"

local FIELDS = 4
local ids = {}
for i = 2, #ARGV, FIELDS do ids[#ids + 1] = ARGV[i] end
local conns, sts = redis.call('HMGET', conn, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local seen, drs = redis.call('HMGET', sn, unpack(ids)), redis.call('HMGET', dr, unpack(ids))
local drains = redis.call('HMGET', da, unpack(ids))
local time = int(now)
local cleared, states, marked, requests, departures, unknown = {}, {}, {}, {}, {}, {}
local function put(pairs, id, value) pairs[#pairs + 1] = id; pairs[#pairs + 1] = value end
for i, id in ipairs(ids) do
  local at = FIELDS * i - 2
  if conns[i] and conns[i] == ARGV[at + 1] then
    local state, since, rest = state_of(sts[i])
    cleared[#cleared + 1] = id
    if ARGV[at + 2] == '1' then put(marked, id, '+' .. seen[i]) end
    put(states, id, state .. ':' .. time .. ':' .. rest)
    local request = drs[i] and request_of(drains[i], since)
    if request then put(requests, id, time .. ':' .. request) end
    local ending = ARGV[at + 3]
    if ending == '' then
      unknown[#unknown + 1] = id
    else
      put(departures, id,
        seen[i] .. ':' .. time .. ':' .. (drs[i] and '1' or '0') .. ':' .. (request or ':') .. ':' .. ending)
    end
  end
end
if #cleared > 0 then
  redis.call('HDEL', conn, unpack(cleared))
  redis.call('HSET', st, unpack(states))
end
if #marked > 0 then redis.call('HSET', sn, unpack(marked)) end
if #requests > 0 then redis.call('HSET', da, unpack(requests)) end
if #departures > 0 then redis.call('HSET', dp, unpack(departures)) end
if #unknown > 0 then redis.call('HDEL', dp, unpack(unknown)) end
return #cleared
