#!lua
-- Writes values. Whether a key is new is read only where that decides.
--
-- KEYS[1..2]  all keys of the namespace (include/kv.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     mark of the namespace (namespaces.ts)
-- ARGV[3..]   key, ttl in ms ('' none) and text of each
-- Returns 'ok' or NEW_NAMESPACE. nil: 500 entries were pruned; run it again.
--- @define NEW_NAMESPACE
--- @include "now"
--- @include "int"
--- @include "kv"
--- @include "memory-reserve"

local MAX_KEYS = 100000

local size = redis.call('HLEN', values)
if size == 0 and ARGV[2] == '0' then return NEW_NAMESPACE end
if is_reserved() then return redis.error_reply(RESERVED) end
local newest, count = {}, 0
for k = 3, #ARGV, 3 do
  if not newest[ARGV[k]] then count = count + 1 end
  newest[ARGV[k]] = k
end
local room = MAX_KEYS - size
if count > room then
  for name in pairs(newest) do count = count - redis.call('HEXISTS', values, name) end
  if count > 0 and count > room then
    local sentence = ' keys; delete some, or give them a time to live'
    return redis.error_reply('FULL a namespace holds at most ' .. MAX_KEYS .. sentence)
  end
end
local texts, ends, endless = {}, {}, {}
for name, k in pairs(newest) do
  texts[#texts + 1] = name
  texts[#texts + 1] = ARGV[k + 2]
  if ARGV[k + 1] == '' then
    endless[#endless + 1] = name
  else
    ends[#ends + 1] = int(now + tonumber(ARGV[k + 1]))
    ends[#ends + 1] = name
  end
end
write('HSET', values, texts)
write('ZADD', expiry, ends)
write('ZREM', expiry, endless)
return 'ok'
