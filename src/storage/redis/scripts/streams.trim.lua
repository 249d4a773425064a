#!lua flags=allow-oom
-- Removes the oldest flushes until the rest fits, in bounded steps. Runs at the memory limit: it only shrinks.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  bytes that may remain
-- Returns { number of trimmed entries, 1 if there is more to trim, else 0 }.
--- @define STREAM_MAX_AGE_MS
--- @include "now"
--- @include "int"
--- @include "stream-size"

-- Flushes and bytes that one call removes.
local TRIM_ROWS = 1000
local TRIM_BYTES = 16 * 1048576

local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local length = redis.call('LLEN', entries)
if length == 0 then return { 0, 0 } end
local head = redis.call('HMGET', hash, 'end', 'size')
local last = tonumber(head[1] or 0)
local start, total = last - length, kept_bytes(head[2], last, length) or counted_bytes()
local past, rows, goneMs, removed, more = start, 0, nil, 0, false
for _, row in ipairs(redis.call('LRANGE', flushes, 0, TRIM_ROWS)) do
  local time, stop, size = string.match(row, '^(%d+):(%d+):(%d+)')
  local isOver = tonumber(time) <= now - STREAM_MAX_AGE_MS or total > tonumber(ARGV[2])
  more = isOver and (rows == TRIM_ROWS or removed >= TRIM_BYTES)
  if not isOver or more then break end
  past, rows, goneMs, removed, total = tonumber(stop), rows + 1, time, removed + size, total - size
end
if rows == 0 then return { 0, 0 } end
redis.call('LTRIM', entries, int(past - start), '-1')
redis.call('LTRIM', flushes, int(rows), '-1')
redis.call('HSET', hash, 'gone', goneMs, 'size', size_text(last, last - past, total))
return { past - start, more and 1 or 0 }
