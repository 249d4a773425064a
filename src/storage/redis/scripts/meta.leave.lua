#!lua flags=allow-oom
-- Removes masters from the live ones.
--
-- KEYS[1]    ZSET of live masters
-- KEYS[2]    ZSET of those that subscribe to sharded channels
-- KEYS[3]    ZSET of those that register for wake-ups
-- ARGV[2..]  masters
-- Returns nothing.

for i = 1, 3 do redis.call('ZREM', KEYS[i], unpack(ARGV, 2)) end
