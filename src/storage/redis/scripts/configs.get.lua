#!lua flags=no-writes
-- Reads the configs of workers and their generations.
--
-- KEYS[1..12]  keys of the registry (include/registry.lua)
-- ARGV[2..]    ids
-- Returns { generations, stored configs }, each with false where a worker is not known.
--- @include "registry"

return { redis.call('HMGET', g, unpack(ARGV, 2)), redis.call('HMGET', cfg, unpack(ARGV, 2)) }
