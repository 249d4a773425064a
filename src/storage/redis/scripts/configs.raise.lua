#!lua flags=allow-oom
-- Raises generations above given ones. A batch acts in order. Runs at the memory limit: it replaces numbers.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[2]      the most by which one call may raise a generation
-- ARGV[3..]    id, and the generation to be above, of each
-- Returns for each { generation as text, connection or false }, 'not_found' or 'too_far'.
--- @include "int"
--- @include "registry"

local ids = {}
for i = 3, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local gens, conns = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local results, raised, changes = {}, {}, {}
for i, id in ipairs(ids) do
  local gen, wanted = raised[id] or tonumber(gens[i] or -1), ARGV[2 * i + 2] + 1
  if gen < 0 then
    results[i] = 'not_found'
  elseif wanted - gen > tonumber(ARGV[2]) then
    results[i] = 'too_far'
  else
    raised[id] = math.max(gen, wanted)
    if wanted > gen then
      changes[#changes + 1] = id
      changes[#changes + 1] = int(wanted)
    end
    results[i] = { int(raised[id]), conns[i] }
  end
end
if #changes > 0 then redis.call('HSET', g, unpack(changes)) end
return results
