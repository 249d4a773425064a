#!lua
-- Registers a namespace, if the bound on their number permits it.
--
-- KEYS[1]  ZSET namespace by the time of its last registration
-- KEYS[2]  HASH of the last search for empty namespaces
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  namespace
-- ARGV[3]  1: the bound applies
-- Returns 'ok', 'full', or the namespaces that may be empty, each followed by its time.
--- @define MAX_NAMESPACES
--- @define RECLAIM_EVERY_MS
--- @include "now"
--- @include "int"

-- An empty namespace keeps its place for so long after its last registration.
local KEPT_MS = 60000

local all, full = KEYS[1], KEYS[2]
if ARGV[3] == '0' or redis.call('ZSCORE', all, ARGV[2]) or redis.call('ZCARD', all) < MAX_NAMESPACES then
  redis.call('ZADD', all, int(now), ARGV[2])
  return 'ok'
end
if math.abs(now - tonumber(redis.call('HGET', full, 'at') or 0)) < RECLAIM_EVERY_MS then return 'full' end
local old = redis.call('ZRANGE', all, '-inf', int(now - KEPT_MS), 'BYSCORE', 'WITHSCORES')
redis.call('HSET', full, 'at', int(now))
return old
