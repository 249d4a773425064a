#!lua
-- Acquires locks that are free.
--
-- KEYS[1..3]  all keys of the namespace (include/locks.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     mark of the namespace (namespaces.ts)
-- ARGV[3]     run of the store
-- ARGV[4..]   name, owner and hold in ms of each
-- Returns for each its token (0: held by another owner) and the end of the hold in ms, in one list; or NEW_NAMESPACE.
-- nil: 500 entries were pruned; run it again.
--- @define NEW_NAMESPACE
--- @include "now"
--- @include "int"
--- @include "fence"
--- @include "read-locks"

local MAX_LOCKS = 10000

local names, held = read_locks(4, 3)
local fence = redis.call('HMGET', meta, 'f', 'run')
if not fence[1] and ARGV[2] == '0' then return NEW_NAMESPACE end
local fresh, added = {}, 0
for _, name in ipairs(names) do
  if not held[name] and not fresh[name] then fresh[name], added = true, added + 1 end
end
if added > 0 and redis.call('HLEN', records) + added > MAX_LOCKS then
  return redis.error_reply('FULL a namespace holds at most ' .. MAX_LOCKS .. ' locks')
end
local token = newest(fence[1], fence[2], ARGV[3])
local results, taken = {}, {}
for k, name in ipairs(names) do
  if held[name] then
    results[2 * k - 1] = 0
  else
    token = token + 1
    held[name] = { token = int(token), untilMs = now + tonumber(ARGV[3 * k + 3]), owner = ARGV[3 * k + 2] }
    taken[name] = held[name]
    results[2 * k - 1] = token
  end
  results[2 * k] = held[name].untilMs
end
if added > 0 then
  redis.call('HSET', meta, 'f', int(token), 'run', ARGV[3])
  keep(taken)
end
return results
