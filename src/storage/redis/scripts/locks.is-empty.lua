#!lua flags=allow-oom
-- Checks whether a namespace holds no lock, and removes its fence once a new fence would begin above every token.
--
-- KEYS[1..3]  all keys of the namespace (include/locks.lua)
-- ARGV[1]     time of a test, or ''
-- Returns 1 if it is empty, else 0. nil: 500 entries were pruned; run it again.
--- @include "now"
--- @include "locks"

-- The clock of the store may go back by so much before a fence that was removed begins again.
local CLOCK_STEP_MS = 60000

local last = tonumber(redis.call('HGET', meta, 'f') or 0)
if redis.call('EXISTS', records) == 1 or last > (now - CLOCK_STEP_MS) * 1024 then return 0 end
redis.call('DEL', meta)
return 1
