#!lua flags=allow-oom
-- Checks whether a namespace holds no value.
--
-- KEYS[1..2]  all keys of the namespace (include/kv.lua)
-- ARGV[1]     time of a test, or ''
-- Returns 1 if it is empty, else 0. nil: 500 entries were pruned; run it again.
--- @include "kv"

return 1 - redis.call('EXISTS', values)
