#!lua flags=no-writes
-- Counts the scheduled tasks that become pending soon. Stale tickets count.
--
-- KEYS[1]  D  ZSET of scheduled tickets
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  how soon, in ms
-- Returns the number, at most MAX_COUNTED_DUE.
--- @define MAX_COUNTED_DUE
--- @keys D
--- @include "now"
--- @include "int"
--- @include "commands"

return math.min(call('ZCOUNT', D, '-inf', int(now + ARGV[2])), MAX_COUNTED_DUE)
