#!lua flags=allow-oom
-- Removes an operation with its parts.
--
-- KEYS[1..2]  oh ob (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     id
-- Returns 1, or 0 if there is no such operation.
--- @keys oh ob

local stored = redis.call('HGET', oh, ARGV[2])
if not stored then return 0 end
local parts = string.match(stored, '^%d+:(%d+):')
for n = 0, tonumber(parts) - 1 do redis.call('HDEL', ob, ARGV[2] .. '/' .. n) end
redis.call('HDEL', oh, ARGV[2])
return 1
