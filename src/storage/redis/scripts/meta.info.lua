#!lua flags=no-writes
-- Reads the epoch, the layout and the needs of the store, and its time.
--
-- KEYS[1]  HASH of the store
-- ARGV[1]  time of a test, or ''
-- Returns { epoch, layout, now in ms, needs or nil }.
--- @include "now"
--- @include "int"

local known = redis.call('HMGET', KEYS[1], 'epoch', 'schema', 'needs')
return { known[1], known[2], int(now), known[3] }
