-- Reads a stream. Scripts return { past, rows, entries }: `past` is the sequence before the first entry, `rows` are the
-- flushes that contain the entries, and maybe some around them.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  LIST of flushes
-- KEYS[3]  HASH of the stream
--- @include "int"
--- @include "stream-size"
--- @include "rows-per-read"
local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local length = redis.call('LLEN', entries)
local head = redis.call('HMGET', hash, 'end', 'gone', 'size')
local last = tonumber(head[1] or 0)
local start = last - length
local function time_of(row) return tonumber(string.match(row, '^%d+')) end
local function end_of(row) return tonumber(string.match(row, '^%d+:(%d+)')) end
local function bytes_of(row) return tonumber(string.match(row, '%d+$')) end

-- At most n entries behind past, the first of them in the row at index row; up to limit bytes, but one entry at least.
-- The bytes of a first row that was taken in part are too many: it is left out of the estimate, and the entries are
-- measured.
local function forward(row, past, n, limit)
  local rows, reach, bytes, estimate, more = {}, past, 0, 0, true
  while more do
    local part = redis.call('LRANGE', flushes, row + #rows, row + #rows + ROWS_PER_READ - 1)
    more = #part == ROWS_PER_READ
    for _, text in ipairs(part) do
      if reach >= past + n or estimate > limit then
        more = false
        break
      end
      if #rows > 0 then estimate = estimate + bytes_of(text) end
      bytes = bytes + bytes_of(text)
      rows[#rows + 1] = text
      reach = math.min(end_of(text), past + n)
    end
  end
  if reach == past then return { past, {}, {} } end
  local found = redis.call('LRANGE', entries, int(past - start), int(reach - start - 1))
  if bytes > limit then
    local total, fitting = 0, #found
    for i, entry in ipairs(found) do
      total = total + #entry
      if total > limit and i > 1 then
        fitting = i - 1
        break
      end
    end
    for i = #found, fitting + 1, -1 do found[i] = nil end
  end
  return { past, rows, found }
end
