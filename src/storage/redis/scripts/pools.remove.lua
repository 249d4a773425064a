#!lua flags=allow-oom
-- Removes items.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   id and token ('' any claim) of each
-- Returns 1 for each item that was removed, else 0. nil: 500 entries were pruned; run it again.
--- @include "pool-claims"

local ids, _, until_of = read_claims(2)
local known, results, removed, gone = read('ZMSCORE', puts, ids), {}, {}, {}
for k, id in ipairs(ids) do
  local may = not gone[id] and known[k] and (ARGV[2 * k + 1] == '' or until_of(k))
  results[k] = may and 1 or 0
  if may then
    removed[#removed + 1] = id
    gone[id] = true
  end
end
drop(removed)
return results
