#!lua flags=no-writes
-- Reads workers.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- ARGV[2..]    ids
-- Returns { ids, g, cfg, desc, st, sn, conn, dr, mb, cs, lb, rv, da, dp }, each a list.
--- @include "registry"
--- @include "worker-rows"

return rows({ unpack(ARGV, 2) })
