#!lua
-- Stores a revision, unless the name is taken. Drops those that are neither in use nor among the newest. An enrolment
-- rule uses its revision too.
--
-- KEYS[1..5]  ru ro rd en rt (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     name
-- ARGV[3]     manager and actor, joined by a colon
-- ARGV[4]     config
-- Returns 'stored', 'exists' or 'full'.
--- @define KEPT_REVISIONS
--- @define MAX_REVISIONS
--- @include "now"
--- @include "int"
--- @keys ru ro rd en rt

local name = ARGV[2]
if redis.call('HEXISTS', ru, name) == 1 then return 'exists' end
local names = redis.call('ZRANGE', ro, '0', '-1', 'WITHSCORES')
local stored = #names / 2
local newest = stored > 0 and names[#names] or '0'
local dropped, named = {}, {}
for _, text in ipairs(redis.call('HGETALL', en)) do named[string.match(text, '^([^/]*)/') or ''] = true end
for i = 1, stored + 1 - KEPT_REVISIONS do
  local old = names[2 * i - 1]
  local use = redis.call('HGET', ru, old)
  if not named[old] and (not use or string.match(use, '^%d+') == '0') then dropped[#dropped + 1] = old end
end
if stored - #dropped >= MAX_REVISIONS then return 'full' end
if #dropped > 0 then
  redis.call('HDEL', ru, unpack(dropped))
  redis.call('HDEL', rd, unpack(dropped))
  redis.call('HDEL', rt, unpack(dropped))
  redis.call('ZREM', ro, unpack(dropped))
end
-- A release that knows no tallies leaves those of the revisions that it drops.
if redis.call('HLEN', rt) > stored - #dropped then
  for _, each in ipairs(redis.call('HKEYS', rt)) do
    if redis.call('HEXISTS', ru, each) == 0 then redis.call('HDEL', rt, each) end
  end
end
redis.call('HDEL', rt, name)
redis.call('ZADD', ro, int(newest + 1), name)
redis.call('HSET', rd, name, ARGV[4])
redis.call('HSET', ru, name, '0:::' .. int(now) .. ':' .. ARGV[3])
return 'stored'
