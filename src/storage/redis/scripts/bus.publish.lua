#!lua flags=allow-oom
-- Publishes messages on plain channels.
--
-- KEYS[1]    decides which server of a Cluster publishes; never written
-- ARGV[2..]  channel and text of each message
-- Returns nothing.

for i = 2, #ARGV, 2 do redis.call('PUBLISH', ARGV[i], ARGV[i + 1]) end
