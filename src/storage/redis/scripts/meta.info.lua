#!lua flags=no-writes
-- Reads the epoch and the layout of the store, and its time.
--
-- KEYS[1]  HASH of the store
-- ARGV[1]  time of a test, or ''
-- Returns { epoch, layout, now in ms }.
--- @include "now"
--- @include "int"

local known = redis.call('HMGET', KEYS[1], 'epoch', 'schema')
return { known[1], known[2], int(now) }
