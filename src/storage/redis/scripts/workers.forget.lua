#!lua flags=allow-oom
-- Removes workers and keeps their last generations. Above the bound the lowest generations are removed: a worker's poll
-- raises its generation again.
--
-- KEYS[1..12]  keys of the registry (include/registry.lua)
-- KEYS[13..]   stats frames and config changes of each worker
-- ARGV[2]      bound on kept generations
-- ARGV[3..]    ids
-- Returns 1 for each worker that was known, else 0.
--- @include "int"
--- @include "registry"

local ids = { unpack(ARGV, 3) }
local gens = redis.call('HMGET', g, unpack(ids))
local results, known, scores, lists, seen = {}, {}, {}, {}, {}
for i, id in ipairs(ids) do
  local isKnown = gens[i] and not seen[id]
  seen[id] = true
  results[i] = isKnown and 1 or 0
  if isKnown then
    known[#known + 1] = id
    scores[#scores + 1] = gens[i]
    scores[#scores + 1] = id
    lists[#lists + 1] = KEYS[11 + 2 * i]
    lists[#lists + 1] = KEYS[12 + 2 * i]
  end
end
if #known == 0 then return results end
local excess = redis.call('ZCARD', gone) + #known - tonumber(ARGV[2])
for _, field in ipairs({ desc, st, sn, conn, dr, mb, g, cfg, cs, lb }) do redis.call('HDEL', field, unpack(known)) end
redis.call('ZREM', ix, unpack(known))
redis.call('UNLINK', unpack(lists))
redis.call('ZADD', gone, unpack(scores))
if excess > 0 then redis.call('ZPOPMIN', gone, int(excess)) end
return results
