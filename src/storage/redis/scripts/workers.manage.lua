#!lua flags=allow-oom
-- Records who manages workers. Runs at the memory limit: what it adds is small, and bound by the number of records.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[2..]    id and manager ('' none) of each
-- Returns 1 for each worker that is known, else 0.
--- @include "registry"

local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local gens = redis.call('HMGET', g, unpack(ids))
local results, final = {}, {}
for i, id in ipairs(ids) do
  results[i] = gens[i] and 1 or 0
  if gens[i] then final[id] = ARGV[2 * i + 1] end
end
local managed, free = {}, {}
for id, by in pairs(final) do
  if by == '' then
    free[#free + 1] = id
  else
    managed[#managed + 1] = id
    managed[#managed + 1] = by
  end
end
if #managed > 0 then redis.call('HSET', mb, unpack(managed)) end
if #free > 0 then redis.call('HDEL', mb, unpack(free)) end
return results
