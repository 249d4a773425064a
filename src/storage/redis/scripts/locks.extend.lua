#!lua flags=allow-oom
-- Extends locks that their owner still holds. No hold becomes shorter.
--
-- KEYS[1..3]  all keys of the namespace (include/locks.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   name, token and hold in ms of each
-- Returns the end of each hold in ms; 0: lost. nil: 500 entries were pruned; run it again.
--- @include "now"
--- @include "read-locks"

local names, held = read_locks(2, 3)
local results, changed = {}, {}
for k, name in ipairs(names) do
  local lock = held[name]
  if lock and lock.token == ARGV[3 * k] then
    lock.untilMs = math.max(lock.untilMs, now + tonumber(ARGV[3 * k + 1]))
    changed[name], results[k] = lock, lock.untilMs
  else
    results[k] = 0
  end
end
keep(changed)
return results
