#!lua flags=no-writes
-- Reads the configs of revisions.
--
-- KEYS[1]   rd (workers-layout.ts)
-- ARGV[2..] names
-- Returns the config of each, or false.
--- @keys rd

return redis.call('HMGET', rd, unpack(ARGV, 2))
