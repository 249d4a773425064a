#!lua
-- Stores a rollout report.
--
-- KEYS[1..2]  rh rb (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     name
-- ARGV[3]     time of the report, ms
-- ARGV[4]     head
-- ARGV[5]     body
-- Returns 'changed', 'updated' or 'full'.
--- @define MAX_ROLLOUTS
--- @keys rh rb

local name, head = ARGV[2], ARGV[4]
local stored = redis.call('HGET', rh, name)
if not stored and redis.call('HLEN', rh) >= MAX_ROLLOUTS then return 'full' end
redis.call('HSET', rh, name, ARGV[3] .. ':' .. head)
redis.call('HSET', rb, name, ARGV[5])
if stored and string.match(stored, '^%d+:(.*)$') == head then return 'updated' end
return 'changed'
