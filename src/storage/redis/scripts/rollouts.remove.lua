#!lua flags=allow-oom
-- Removes a rollout report.
--
-- KEYS[1..2]  rh rb (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     name
-- Returns its head, or false if there is no such report.
--- @keys rh rb

local stored = redis.call('HGET', rh, ARGV[2])
if not stored then return false end
redis.call('HDEL', rh, ARGV[2])
redis.call('HDEL', rb, ARGV[2])
return string.match(stored, '^%d+:(.*)$')
