#!lua flags=no-writes
-- Counts the entries.
--
-- KEYS[1]  LIST of entries
-- Returns the number.

return redis.call('LLEN', KEYS[1])
