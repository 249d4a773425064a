#!lua flags=allow-oom
-- Removes namespaces that were not registered again since they were found empty.
--
-- KEYS[1]    ZSET namespace by the time of its last registration
-- KEYS[2]    HASH of the last search for empty namespaces
-- ARGV[2..]  namespace and time of each
-- Returns nothing.

local old = {}
for k = 2, #ARGV, 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[k]) == ARGV[k + 1] then old[#old + 1] = ARGV[k] end
end
for _, namespace in ipairs(old) do redis.call('ZREM', KEYS[1], namespace) end
