#!lua flags=allow-oom
-- Reads values.
--
-- KEYS[1..2]  all keys of the namespace (include/kv.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   keys
-- Returns the values, false where there is none. nil: 500 entries were pruned; run it again.
--- @include "kv"

local names = {}
for k = 2, #ARGV do names[#names + 1] = ARGV[k] end
return read('HMGET', values, names)
