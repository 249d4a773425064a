#!lua
-- Adds to counters. A counter that becomes 0 is removed.
--
-- Lua counts in doubles. Two safe integers add up to less than 2^54, where a sum beyond the safe range may be rounded
-- but never back into it, so the comparison is exact.
--
-- KEYS[1]    HASH name -> integer
-- ARGV[2]    mark of the namespace (namespaces.ts)
-- ARGV[3..]  name and delta of each
-- Returns the sums as text, '' where a sum is out of range and unchanged; or NEW_NAMESPACE.
--- @define NEW_NAMESPACE
--- @include "int"
--- @include "chunks"

local MAX_COUNTERS = 10000

local names = {}
for k = 3, #ARGV, 2 do names[#names + 1] = ARGV[k] end
local stored, sums, added = read('HMGET', KEYS[1], names), {}, 0
for k, name in ipairs(names) do
  if not stored[k] and not sums[name] then added = added + 1 end
  sums[name] = tonumber(stored[k] or 0)
end
local size = added > 0 and redis.call('HLEN', KEYS[1])
if size == 0 and ARGV[2] == '0' then return NEW_NAMESPACE end
if added > 0 and size + added > MAX_COUNTERS then
  return redis.error_reply('FULL a namespace holds at most ' .. MAX_COUNTERS .. ' counters')
end
local results, changed = {}, {}
for k, name in ipairs(names) do
  local sum = sums[name] + tonumber(ARGV[2 * k + 2])
  if sum > 9007199254740991 or sum < -9007199254740991 then
    results[k] = ''
  else
    sums[name], changed[name], results[k] = sum, true, int(sum)
  end
end
local pairsOf, zeros = {}, {}
for name in pairs(changed) do
  if sums[name] == 0 then
    zeros[#zeros + 1] = name
  else
    pairsOf[#pairsOf + 1] = name
    pairsOf[#pairsOf + 1] = int(sums[name])
  end
end
write('HSET', KEYS[1], pairsOf)
write('HDEL', KEYS[1], zeros)
return results
