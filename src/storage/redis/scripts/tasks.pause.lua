#!lua flags=allow-oom
-- Pauses a queue, or replaces its pause.
--
-- KEYS[1]  M  HASH with the pause
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  end in ms, or ''
-- ARGV[3]  actor and note, as JSON
-- Returns since when the queue is paused, in ms.
--- @keys M
--- @include "now"
--- @include "int"
--- @include "pause"

local lasting = lasting_pause(redis.call('HGET', M, 'ps'))
local since = lasting and string.match(lasting, '^%d*|(%d+)') or int(now)
redis.call('HSET', M, 'ps', ARGV[2] .. '|' .. since .. '|' .. ARGV[3])
return since
