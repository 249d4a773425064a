#!lua flags=no-writes
-- Reads the configs of workers with their generations, revisions and managers.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[2..]    ids
-- Returns { generations, stored configs, revisions, managers }, each with false where a worker is not known.
--- @include "registry"

local columns = {}
for i, field in ipairs({ g, cfg, rv, mb }) do columns[i] = redis.call('HMGET', field, unpack(ARGV, 2)) end
return columns
