#!lua flags=allow-oom
-- Releases claims. An item becomes free at the place of this last use.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   id and token of each
-- Returns 1 for each item that was released, else 0. nil: 500 entries were pruned; run it again.
--- @include "pool-claims"

local ids, ends, until_of = read_claims(2)
local results, released, back = {}, {}, {}
for k, id in ipairs(ids) do
  local isMine = until_of(k)
  results[k] = isMine and 1 or 0
  if isMine then
    ends[id] = 0
    released[#released + 1] = id
    back[#back + 1] = ARGV[2 * k + 1]
    back[#back + 1] = id
  end
end
write('ZADD', free, back)
write('ZREM', claimed, released)
write('HDEL', owners, released)
return results
