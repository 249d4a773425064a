#!lua flags=no-writes
-- Checks whether a namespace holds no counter.
--
-- KEYS[1]  HASH name -> integer
-- Returns 1 if it is empty, else 0.

return 1 - redis.call('EXISTS', KEYS[1])
