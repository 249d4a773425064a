#!lua flags=allow-oom
-- Records what a live master offers, and reads what each live master recorded.
--
-- KEYS[1]  ZSET of live masters
-- KEYS[2]  HASH of what each master offers
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  master
-- ARGV[3]  what it offers
-- Returns one entry per live master: what it recorded, or nil.
--- @include "now"
--- @include "int"
--- @include "alive-ms"

local alive = redis.call('ZRANGE', KEYS[1], '(' .. int(now - ALIVE_MS), '+inf', 'BYSCORE')
local offers, lives = {}, {}
for i, id in ipairs(alive) do
  lives[id] = true
  if id == ARGV[2] then redis.call('HSET', KEYS[2], id, ARGV[3]) end
  offers[i] = redis.call('HGET', KEYS[2], id)
end
if redis.call('HLEN', KEYS[2]) > #alive then
  for _, id in ipairs(redis.call('HKEYS', KEYS[2])) do
    if not lives[id] then redis.call('HDEL', KEYS[2], id) end
  end
end
return offers
