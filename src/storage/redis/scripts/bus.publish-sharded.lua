#!lua flags=allow-oom
-- Publishes a message on a sharded channel.
--
-- KEYS[1]  a key with the tag of the channel; never written
-- ARGV[2]  channel
-- ARGV[3]  text
-- Returns nothing.

redis.call('SPUBLISH', ARGV[2], ARGV[3])
