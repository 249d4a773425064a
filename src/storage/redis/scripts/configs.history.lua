#!lua flags=no-writes
-- Reads config changes of a worker.
--
-- KEYS[1]  LIST of config changes, newest first
-- ARGV[2]  maximum number of rows
-- ARGV[3]  number of newer rows to skip
-- Returns the rows, newest first.
--- @include "int"

return redis.call('LRANGE', KEYS[1], ARGV[3], int(ARGV[3] + ARGV[2] - 1))
