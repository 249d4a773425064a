#!lua flags=allow-oom
-- Drains workers. A worker on a connection of a live master is bound to its process, any other one to the process that
-- registers next (D6). Runs at the memory limit: what it adds is small, and bound by the number of records.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      number of live masters
-- ARGV[3..]    live masters, then of each worker: id, and who requests the drain or ''
-- Returns for each false (not known) or { connection or false }.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"

local masters = tonumber(ARGV[2])
local live = {}
for i = 3, 2 + masters do live[ARGV[i]] = true end
local ids = {}
for i = 3 + masters, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local descs, conns = redis.call('HMGET', desc, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local drs, sts = redis.call('HMGET', dr, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local results, bindings, states, requests, unknown, isNew = {}, {}, {}, {}, {}, {}
local time = int(now)
for i, id in ipairs(ids) do
  results[i] = false
  if descs[i] then
    local master = conns[i] and string.match(conns[i], '^(.*)/')
    local instance = string.match(descs[i], '^%d+:([^:]*):')
    local binding = ''
    if master and live[master] then binding = instance == '' and 'c' .. conns[i] or 'i' .. instance end
    bindings[#bindings + 1] = id
    bindings[#bindings + 1] = binding
    if not drs[i] and not isNew[id] then
      local state, _, rest = state_of(sts[i])
      local actor = ARGV[masters + 2 + 2 * i]
      isNew[id] = true
      states[#states + 1] = id
      states[#states + 1] = state .. ':' .. time .. ':' .. rest
      if actor == '' then
        unknown[#unknown + 1] = id
      else
        requests[#requests + 1] = id
        requests[#requests + 1] = time .. ':' .. time .. ':' .. actor
      end
    end
    results[i] = { conns[i] }
  end
end
if #bindings > 0 then redis.call('HSET', dr, unpack(bindings)) end
if #states > 0 then redis.call('HSET', st, unpack(states)) end
if #requests > 0 then redis.call('HSET', da, unpack(requests)) end
if #unknown > 0 then redis.call('HDEL', da, unpack(unknown)) end
return results
