#!lua flags=no-writes
-- Reads the death number of the newest dead task. Deaths are numbered in their order.
--
-- KEYS[1]  DZ  ZSET of dead tasks
-- Returns the number, 0 if no task is dead.
--- @keys DZ
--- @include "commands"

return tonumber(call('ZRANGE', DZ, 0, 0, 'REV', 'WITHSCORES')[2] or 0)
