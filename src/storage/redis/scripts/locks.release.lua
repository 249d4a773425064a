#!lua flags=allow-oom
-- Releases locks that their owner still holds.
--
-- KEYS[1..3]  all keys of the namespace (include/locks.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   name and token of each
-- Returns 1 for each lock that was released, else 0. nil: 500 entries were pruned; run it again.
--- @include "read-locks"

local names, held = read_locks(2, 2)
local results, released = {}, {}
for k, name in ipairs(names) do
  local isMine = held[name] and held[name].token == ARGV[2 * k + 1]
  results[k] = isMine and 1 or 0
  if isMine then
    released[#released + 1] = name
    held[name] = nil
  end
end
write('HDEL', records, released)
write('ZREM', ends, released)
return results
