#!lua flags=allow-oom
-- Records the heartbeat of a master that subscribes to sharded channels, and forgets masters without a recent one.
--
-- KEYS[1]  ZSET of live masters
-- KEYS[2]  ZSET of those that subscribe to sharded channels
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  master
-- Returns { live masters, 1 if all of them subscribe to sharded channels, else 0 }.
--- @include "now"
--- @include "int"
--- @include "alive-ms"

for i = 1, 2 do
  redis.call('ZADD', KEYS[i], int(now), ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', int(now - ALIVE_MS))
end
local alive = redis.call('ZRANGE', KEYS[1], 0, -1)
for _, id in ipairs(alive) do
  if not redis.call('ZSCORE', KEYS[2], id) then return { alive, 0 } end
end
return { alive, 1 }
