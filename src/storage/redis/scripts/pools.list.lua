#!lua flags=allow-oom
-- Lists the first items, up to MAX_RESPONSE_BYTES.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     maximum number of items
-- Returns the size of the pool, then id, record and end of the hold in ms (0 free) of each. nil: 500 entries were
-- pruned; run it again.
--- @define MAX_RESPONSE_BYTES
--- @include "now"
--- @include "pool"

-- What an item adds to a response beside its texts.
local ROW_BYTES = 256

local result, bytes = { redis.call('ZCARD', puts) }, 0
for from = 0, tonumber(ARGV[2]) - 1, PAGE do
  local ids = redis.call('ZRANGE', puts, from, math.min(from + PAGE, tonumber(ARGV[2])) - 1)
  if #ids == 0 then return result end
  local times = redis.call('ZMSCORE', claimed, unpack(ids))
  for k, record in ipairs(redis.call('HMGET', records, unpack(ids))) do
    bytes = bytes + ROW_BYTES + #ids[k] + #record
    if bytes > MAX_RESPONSE_BYTES and #result > 1 then return result end
    local untilMs = tonumber(times[k] or 0)
    result[#result + 1] = ids[k]
    result[#result + 1] = record
    result[#result + 1] = untilMs > now and untilMs or 0
  end
end
return result
