#!lua flags=allow-oom
-- Lists the claims that have not ended, the first to end first.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     maximum number of claims
-- ARGV[3]     only of this item; '' all
-- Returns the number of claims, then id, end of the hold in ms and who claims it (pools.ts) of each. nil: 500 entries
-- were pruned; run it again.
--- @include "now"
--- @include "pool"

local after = '(' .. int(now)
local result = { redis.call('ZCOUNT', claimed, after, '+inf') }
local ids = { ARGV[3] }
if ARGV[3] == '' then ids = redis.call('ZRANGE', claimed, after, '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2]) end
local times, texts = read('ZMSCORE', claimed, ids), read('HMGET', owners, ids)
for k, id in ipairs(ids) do
  local untilMs = tonumber(times[k] or 0)
  if untilMs > now then
    result[#result + 1] = id
    result[#result + 1] = untilMs
    result[#result + 1] = texts[k]
  end
end
return result
