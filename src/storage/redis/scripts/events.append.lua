#!lua
-- Appends events to the log and publishes them. After a restart of the store, a new run with an empty log begins.
--
-- KEYS[1]    LIST of entries
-- KEYS[2]    HASH of the log
-- ARGV[2]    channel
-- ARGV[3]    life of the store
-- ARGV[4]    name of the next run, used if one begins
-- ARGV[5..]  entries as JSON
-- Returns { run, number of the first entry }.
--- @define EVENT_LOG_LENGTH
--- @define EVENT_LOG_BYTES
--- @include "int"

local state = redis.call('HMGET', KEYS[2], 'last', 'run', 'life', 'bytes', 'counted')
local last, run, bytes = tonumber(state[1] or 0), state[2], tonumber(state[4] or 0)
local length = redis.call('LLEN', KEYS[1])
local isNew = not run or state[3] ~= ARGV[3]
if isNew then
  last, run, bytes, length = 0, ARGV[4], 0, 0
elseif state[5] ~= state[1] then
  bytes = 0
  for at = 0, length - 1, 500 do
    for _, entry in ipairs(redis.call('LRANGE', KEYS[1], at, at + 499)) do bytes = bytes + #entry end
  end
end
local count = #ARGV - 4
length = length + count
for i = 5, #ARGV do bytes = bytes + #ARGV[i] end
if isNew then redis.call('UNLINK', KEYS[1]) end
for i = 5, #ARGV, 1000 do redis.call('RPUSH', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV))) end
while length > EVENT_LOG_LENGTH or (bytes > EVENT_LOG_BYTES and length > 1) do
  bytes, length = bytes - #redis.call('LPOP', KEYS[1]), length - 1
end
local newest = int(last + count)
redis.call('HSET', KEYS[2], 'last', newest, 'run', run, 'life', ARGV[3], 'bytes', int(bytes), 'counted', newest)
redis.call('PUBLISH', ARGV[2], run .. ' ' .. int(last + 1) .. ' [' .. table.concat(ARGV, ',', 5) .. ']')
return { run, last + 1 }
