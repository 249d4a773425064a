#!lua flags=no-writes
-- Counts the items that have not expired.
--
-- KEYS[1]  ZSET of items
-- KEYS[2]  ZSET of items by expiry
-- ARGV[1]  time of a test, or ''
-- Returns the number.
--- @include "now"
--- @include "int"

local puts, expiry = KEYS[1], KEYS[2]
return redis.call('ZCARD', puts) - redis.call('ZCOUNT', expiry, '-inf', int(now))
