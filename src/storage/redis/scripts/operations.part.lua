#!lua flags=no-writes
-- Reads one part of an operation.
--
-- KEYS[1]  ob (workers-layout.ts)
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  id
-- ARGV[3]  number of the part
-- Returns its text, or false if there is no such part.
--- @keys ob

return redis.call('HGET', ob, ARGV[2] .. '/' .. ARGV[3])
