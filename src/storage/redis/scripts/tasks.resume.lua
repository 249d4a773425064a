#!lua flags=allow-oom
-- Ends the pause of a queue, and wakes the masters.
--
-- KEYS[1]  M  HASH with the pause
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  wake channel
-- ARGV[3]  wake message
-- Returns 1 if the queue was paused, else 0.
--- @keys M
--- @include "now"
--- @include "pause"

local lasting = lasting_pause(redis.call('HGET', M, 'ps'))
redis.call('HDEL', M, 'ps')
if not lasting then return 0 end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
