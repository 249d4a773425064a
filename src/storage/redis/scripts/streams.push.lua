#!lua
-- Appends entries to a stream, removes what exceeds its bounds, and publishes the entries if there is a subscriber. A
-- push that was sent before is recognised by the sequence number of its producer, and ignored.
--
-- KEYS[1]    LIST of entries
-- KEYS[2]    LIST of flushes
-- KEYS[3]    HASH of the stream
-- ARGV[1]    time of a test, or ''
-- ARGV[2]    field of the producer
-- ARGV[3]    its sequence number
-- ARGV[4]    channel, or ''
-- ARGV[5]    how to publish: 'asked', 'always' or 'sharded' (bus.ts)
-- ARGV[6..]  entries
-- Returns { length, number of trimmed entries }.
--- @define STREAM_MAX_ENTRIES
--- @define STREAM_MAX_AGE_MS
--- @define STREAM_MAX_BYTES
--- @include "now"
--- @include "int"
--- @include "stream-size"
--- @include "memory-reserve"
--- @include "rows-per-read"

-- Masters whose pushes are recognised as repetitions; beyond it the one that was silent longest is removed.
local MAX_PRODUCERS = 1000
-- `end`, `ms`, `gone` and `size`.
local OWN_FIELDS = 4

local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local producer, channel, first = ARGV[2], ARGV[4], 6
local head = redis.call('HMGET', hash, 'end', 'ms', producer, 'size')
local length = redis.call('LLEN', entries)
if head[3] and tonumber(ARGV[3]) <= tonumber(string.match(head[3], '^%d+')) then return { length, 0 } end
if is_reserved() then return redis.error_reply(RESERVED) end

local bytes = 0
for i = first, #ARGV do bytes = bytes + #ARGV[i] end
local last = tonumber(head[1] or 0) + #ARGV - first + 1
local ms = math.max(tonumber(head[2] or 0), now)
local start = tonumber(head[1] or 0) - length

local function silentLongest()
  local fields, oldest, at = redis.call('HGETALL', hash), math.huge, nil
  for i = 1, #fields, 2 do
    local time = string.sub(fields[i], 1, 1) == 'p' and tonumber(string.match(fields[i + 1], ':(%d+)$'))
    if time and time < oldest then oldest, at = time, fields[i] end
  end
  return at
end
local evicted = not head[3] and redis.call('HLEN', hash) >= MAX_PRODUCERS + OWN_FIELDS and silentLongest()

local past, rows, goneMs, begin = math.max(start, last - STREAM_MAX_ENTRIES), 0, nil, start
local total = (kept_bytes(head[4], tonumber(head[1] or 0), length) or counted_bytes()) + bytes
local more, step = true, 1
while more do
  local part = redis.call('LRANGE', flushes, rows, rows + step - 1)
  more, step = #part == step, ROWS_PER_READ
  for _, row in ipairs(part) do
    local time, stop, size = string.match(row, '^(%d+):(%d+):(%d+)')
    stop = tonumber(stop)
    local isOver = stop <= past or tonumber(time) <= now - STREAM_MAX_AGE_MS or total > STREAM_MAX_BYTES
    if isOver or past > begin then goneMs = time end
    if not isOver then
      more = false
      break
    end
    past, rows, begin, total = math.max(past, stop), rows + 1, stop, total - size
  end
end
local mode, listened = ARGV[5], channel ~= ''
if listened and mode == 'sharded' then listened = redis.call('PUBSUB', 'SHARDNUMSUB', channel)[2] > 0 end
if listened and mode == 'asked' then
  listened = redis.call('PUBSUB', 'NUMPAT') > 0 or redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
end

redis.call('RPUSH', entries, unpack(ARGV, first))
redis.call('RPUSH', flushes, int(ms) .. ':' .. int(last) .. ':' .. int(bytes))
local size = size_text(last, last - past, total)
redis.call('HSET', hash, 'end', int(last), 'ms', int(ms), producer, ARGV[3] .. ':' .. int(now), 'size', size)
if past > start then
  redis.call('LTRIM', entries, int(past - start), '-1')
  redis.call('HSET', hash, 'gone', goneMs)
end
if rows > 0 then redis.call('LTRIM', flushes, int(rows), '-1') end
if evicted then redis.call('HDEL', hash, evicted) end
if listened then
  for i = first, #ARGV do
    if mode == 'sharded' then redis.call('SPUBLISH', channel, ARGV[i]) else redis.call('PUBLISH', channel, ARGV[i]) end
  end
end
return { last - past, past - start }
