#!lua flags=allow-oom
-- Deletes values. One HDEL per key: its reply counts, without reading the value.
--
-- KEYS[1..2]  all keys of the namespace (include/kv.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   keys
-- Returns 1 for each key that existed, else 0. nil: 500 entries were pruned; run it again.
--- @include "kv"

local results, names = {}, {}
for k = 2, #ARGV do
  names[#names + 1] = ARGV[k]
  results[#results + 1] = redis.call('HDEL', values, ARGV[k])
end
write('ZREM', expiry, names)
return results
