#!lua flags=no-writes
-- Reads the stats frames of a worker.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- KEYS[17]     LIST of stats frames, oldest first
-- ARGV[2]      id
-- Returns all frames, oldest first; nil if the worker is not known.
--- @include "registry"

if redis.call('HEXISTS', g, ARGV[2]) == 0 then return false end
return redis.call('LRANGE', KEYS[17], '0', '-1')
