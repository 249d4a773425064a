#!lua flags=allow-oom
-- Removes workers and keeps their last generations. Above the bound the lowest generations are removed: a worker's poll
-- raises its generation again.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- KEYS[17..]   stats frames and config changes of each worker
-- ARGV[2]      bound on kept generations
-- ARGV[3..]    ids
-- Returns 1 for each worker that was known, else 0.
--- @include "int"
--- @include "registry"
--- @include "revision-use"

local ids = { unpack(ARGV, 3) }
local gens, revisions = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', rv, unpack(ids))
local results, known, scores, lists, seen = {}, {}, {}, {}, {}
for i, id in ipairs(ids) do
  local isKnown = gens[i] and not seen[id]
  seen[id] = true
  results[i] = isKnown and 1 or 0
  if isKnown then
    known[#known + 1] = id
    if revisions[i] then count_use(revisions[i], -1) end
    scores[#scores + 1] = gens[i]
    scores[#scores + 1] = id
    lists[#lists + 1] = KEYS[15 + 2 * i]
    lists[#lists + 1] = KEYS[16 + 2 * i]
  end
end
if #known == 0 then return results end
local excess = redis.call('ZCARD', gone) + #known - tonumber(ARGV[2])
for _, field in ipairs({ desc, st, sn, conn, dr, mb, g, cfg, cs, lb, rv, da, dp }) do
  redis.call('HDEL', field, unpack(known))
end
write_use()
redis.call('ZREM', ix, unpack(known))
redis.call('UNLINK', unpack(lists))
redis.call('ZADD', gone, unpack(scores))
if excess > 0 then redis.call('ZPOPMIN', gone, int(excess)) end
return results
