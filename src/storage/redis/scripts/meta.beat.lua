#!lua flags=allow-oom
-- Records the heartbeat of a master that subscribes to sharded channels and registers for wake-ups, and forgets masters
-- without a recent one. The first heartbeat is published, so that no other master assumes any longer that it is alone.
--
-- KEYS[1]  ZSET of live masters
-- KEYS[2]  ZSET of those that subscribe to sharded channels
-- KEYS[3]  ZSET of those that register for wake-ups
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  master
-- ARGV[3]  channel of masters that join
-- Returns the live masters, then whether all of them subscribe to sharded channels, and register: 1, else 0.
--- @include "now"
--- @include "int"
--- @include "alive-ms"

for i = 1, 3 do
  local added = redis.call('ZADD', KEYS[i], int(now), ARGV[2])
  if i == 1 and added == 1 then redis.call('PUBLISH', ARGV[3], ARGV[2]) end
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', int(now - ALIVE_MS))
end
local alive = redis.call('ZRANGE', KEYS[1], 0, -1)
local function are_all_in(key)
  for _, id in ipairs(alive) do
    if not redis.call('ZSCORE', key, id) then return 0 end
  end
  return 1
end
return { alive, are_all_in(KEYS[2]), are_all_in(KEYS[3]) }
