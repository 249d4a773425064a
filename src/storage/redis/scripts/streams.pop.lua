#!lua flags=allow-oom
-- Removes the oldest entries and returns them.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
-- ARGV[2]  maximum number of entries
-- ARGV[3]  maximum of bytes, exceeded by a single larger entry
-- Returns { past, flushes, entries }: include/stream-reading.lua.
--- @include "int"
--- @include "stream-reading"

local result = forward(0, start, tonumber(ARGV[2]), tonumber(ARGV[3]))
local rows, popped = result[2], #result[3]
if popped == 0 then return result end
local whole, gone, bytes = 0, nil, kept_bytes(head[3], last, length)
for _, row in ipairs(rows) do
  gone = row
  if end_of(row) > start + popped then break end
  whole = whole + 1
  bytes = bytes and bytes - bytes_of(row)
  if end_of(row) == start + popped then break end
end
redis.call('LTRIM', entries, int(popped), '-1')
if whole > 0 then redis.call('LTRIM', flushes, int(whole), '-1') end
redis.call('HSET', hash, 'gone', int(time_of(gone)), 'size', bytes and size_text(last, length - popped, bytes) or '')
return result
