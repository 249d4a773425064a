#!lua flags=no-writes
-- Reads the size of all flushes.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
-- Returns the number of bytes.
--- @include "stream-size"

local head = redis.call('HMGET', KEYS[3], 'end', 'size')
return kept_bytes(head[2], tonumber(head[1] or 0), redis.call('LLEN', KEYS[1])) or counted_bytes()
