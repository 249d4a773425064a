#!lua flags=no-writes
-- Reads the entries behind an id, or the newest entries.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
-- ARGV[2]  maximum number of entries
-- ARGV[3]  maximum of bytes, exceeded by a single larger entry
-- ARGV[4]  ms of the id to begin behind; absent: the newest entries
-- ARGV[5]  sequence of that id
-- Returns { past, flushes, entries, sequence of the entry before the oldest one, its ms or false }:
-- include/stream-reading.lua. The last two show a gap.
--- @define MAX_RESPONSE_BYTES
--- @include "int"
--- @include "stream-reading"

local n, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
-- The index of the first row of which isBehind(row) holds; the number of rows where there is none.
local function search(isBehind)
  local low, high = 0, redis.call('LLEN', flushes)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBehind(redis.call('LINDEX', flushes, middle)) then high = middle else low = middle + 1 end
  end
  return low
end
local function behind(ms, seq)
  local at = search(function(row) return time_of(row) > ms or (time_of(row) == ms and end_of(row) > seq) end)
  local row = redis.call('LINDEX', flushes, at)
  if not row then return { last, {}, {} } end
  local past = at > 0 and end_of(redis.call('LINDEX', flushes, at - 1)) or start
  if time_of(row) == ms then past = math.max(past, seq) end
  return forward(at, past, n, limit)
end
local function newest()
  local past = last - math.min(n, length)
  local first = search(function(row) return end_of(row) > past end)
  local rows, bytes, at, isCut = redis.call('LRANGE', flushes, first, '-1'), 0, 1, false
  for i = #rows, 1, -1 do
    at, isCut = i, bytes + bytes_of(rows[i]) > MAX_RESPONSE_BYTES
    if isCut then break end
    bytes = bytes + bytes_of(rows[i])
  end
  if past == last then return { past, {}, {} } end
  -- The entries of the row in which the bound falls are measured, newest first.
  local from, to = math.max(past, at > 1 and end_of(rows[at - 1]) or past), end_of(rows[at])
  if isCut then
    local found = redis.call('LRANGE', entries, int(from - start), int(to - start - 1))
    for i = #found, 1, -1 do
      bytes = bytes + #found[i]
      if bytes > MAX_RESPONSE_BYTES and from + i < last then
        from = from + i
        break
      end
    end
  end
  return forward(first + at - 1, from, n, limit)
end
local result = ARGV[4] and behind(tonumber(ARGV[4]), tonumber(ARGV[5])) or newest()
result[4], result[5] = start, head[2]
return result
