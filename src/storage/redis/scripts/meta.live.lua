#!lua flags=no-writes
-- Lists the masters with a recent heartbeat.
--
-- KEYS[1]  ZSET of live masters
-- ARGV[1]  time of a test, or ''
-- Returns their ids.
--- @include "now"
--- @include "int"
--- @include "alive-ms"

return redis.call('ZRANGE', KEYS[1], '(' .. int(now - ALIVE_MS), '+inf', 'BYSCORE')
