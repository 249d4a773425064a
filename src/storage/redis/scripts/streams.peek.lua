#!lua flags=no-writes
-- Reads the oldest entries.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
-- ARGV[2]  maximum number of entries
-- ARGV[3]  maximum of bytes, exceeded by a single larger entry
-- Returns { past, flushes, entries }: include/stream-reading.lua.
--- @include "stream-reading"

return forward(0, start, tonumber(ARGV[2]), tonumber(ARGV[3]))
