#!lua flags=no-writes
-- Reads entries of the audit log, newest first.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  HASH; last: number of the newest entry
-- ARGV[2]  only entries with a smaller number; '' for the newest ones
-- ARGV[3]  maximum number of entries
-- Returns { number of the first returned entry, entries }.

local length = redis.call('LLEN', KEYS[1])
local last = tonumber(redis.call('HGET', KEYS[2], 'last') or 0)
local newest = math.min(last, (tonumber(ARGV[2]) or last + 1) - 1)
local stop = newest - (last - length) - 1
if stop < 0 then return { 0, {} } end
local entries = redis.call('LRANGE', KEYS[1], math.max(0, stop - tonumber(ARGV[3]) + 1), stop)
local reversed = {}
for i = #entries, 1, -1 do reversed[#reversed + 1] = entries[i] end
return { newest, reversed }
