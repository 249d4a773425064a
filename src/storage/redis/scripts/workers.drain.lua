#!lua flags=allow-oom
-- Drains workers. A worker on a connection of a live master is bound to its process, any other one to the process that
-- registers next (D6). Runs at the memory limit: what it adds is small, and bound by the number of records.
--
-- KEYS[1..14]  keys of the registry (include/registry.lua)
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      number of live masters
-- ARGV[3..]    live masters, then ids
-- Returns for each false (not known) or { connection or false }.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"

local masters = tonumber(ARGV[2])
local live = {}
for i = 3, 2 + masters do live[ARGV[i]] = true end
local ids = { unpack(ARGV, 3 + masters) }
local descs, conns = redis.call('HMGET', desc, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local drs, sts = redis.call('HMGET', dr, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local results, bindings, states = {}, {}, {}
for i, id in ipairs(ids) do
  results[i] = false
  if descs[i] then
    local master = conns[i] and string.match(conns[i], '^(.*)/')
    local instance = string.match(descs[i], '^%d+:([^:]*):')
    local binding = ''
    if master and live[master] then binding = instance == '' and 'c' .. conns[i] or 'i' .. instance end
    bindings[#bindings + 1] = id
    bindings[#bindings + 1] = binding
    if not drs[i] then
      local state, _, rest = state_of(sts[i])
      states[#states + 1] = id
      states[#states + 1] = state .. ':' .. int(now) .. ':' .. rest
    end
    results[i] = { conns[i] }
  end
end
if #bindings > 0 then redis.call('HSET', dr, unpack(bindings)) end
if #states > 0 then redis.call('HSET', st, unpack(states)) end
return results
