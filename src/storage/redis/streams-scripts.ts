/**
 * @module storage/redis/streams-scripts
 * The output stream of one automation type, under the tag `{o:T}`:
 *
 *   l   LIST of entries, oldest first
 *   b   LIST of flushes, one row a push: `ms:sequence of its last entry:bytes`; the first row may be taken in part
 *   h   HASH: `size` bytes of all rows, as `end:LLEN l:bytes`; valid while both still hold, since an older release does
 *       not keep it; `end` sequence of the newest entry, `ms` of the newest flush, `gone` ms of the newest entry that
 *       was removed, and `p<producer>` → `last sequence number of the producer:ms`
 *
 * Entries carry no id of their own: the entry before the head has the sequence end − LLEN l (`past` below), each next
 * one is one higher, and its time is that of its flush. So push and pop touch ends of lists alone, and no entry is
 * rewritten. Rows grow in both time and sequence, which is what the search of tail rests on.
 */
import { MAX_ANSWER_BYTES, STREAM_MAX_AGE_MS, STREAM_MAX_BYTES, STREAM_MAX_ENTRIES } from '../../protocol/index.ts'
import { RESERVE } from './reserve.ts'
import { script } from './script.ts'

/** Lives of masters whose pushes are still recognised as repeats; beyond it the one that was silent longest goes. */
const MAX_PRODUCERS = 1_000
/** `end`, `ms`, `gone` and `size`. */
const OWN_FIELDS = 4
/** Rows read in one step while searching for the end of a read. */
const ROWS = 100

/** Rows and bytes that one step of a trim removes. */
const TRIM_ROWS = 1_000
const TRIM_BYTES = 16 * 1_048_576

/** The bytes of all rows: as kept in `size`, or counted where another release changed the stream since. */
const SIZE = `
local function kept_bytes(size, last, length)
  local at, n, bytes = string.match(size or '', '^(%d+):(%d+):(%d+)$')
  return at and tonumber(at) == last and tonumber(n) == length and tonumber(bytes) or nil
end
local function counted_bytes()
  local total, from = 0, 0
  repeat
    local part = redis.call('LRANGE', KEYS[2], from, from + 999)
    for _, row in ipairs(part) do total = total + string.match(row, '%d+$') end
    from = from + 1000
  until #part < 1000
  return total
end
local function size_text(last, length, bytes) return int(last) .. ':' .. int(length) .. ':' .. int(bytes) end
`

/**
 * KEYS: l, b, h. ARGV: producer's field, its sequence number, channel, how to publish ({@link PublishMode}), entries.
 * Returns { length, trimmed }. The entries are published, in order, in the same step, if there is a subscriber.
 */
export const PUSH = script(
  'streams.push',
  [],
  `
${SIZE}
${RESERVE}
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
local evicted = not head[3] and redis.call('HLEN', hash) >= ${MAX_PRODUCERS + OWN_FIELDS} and silentLongest()

local past, rows, goneMs, begin = math.max(start, last - ${STREAM_MAX_ENTRIES}), 0, nil, start
local total = (kept_bytes(head[4], tonumber(head[1] or 0), length) or counted_bytes()) + bytes
local more, step = true, 1
while more do
  local part = redis.call('LRANGE', flushes, rows, rows + step - 1)
  more, step = #part == step, ${ROWS}
  for _, row in ipairs(part) do
    local time, stop, size = string.match(row, '^(%d+):(%d+):(%d+)')
    stop = tonumber(stop)
    local isOver = stop <= past or tonumber(time) <= now - ${STREAM_MAX_AGE_MS} or total > ${STREAM_MAX_BYTES}
    if isOver or past > begin then goneMs = time end
    if not isOver then more = false break end
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
redis.call('HSET', hash, 'end', int(last), 'ms', int(ms), producer, ARGV[3] .. ':' .. int(now), 'size', size_text(last, last - past, total))
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
`,
)

/**
 * Lua that the reading scripts share. What they answer is { past, rows, entries }: `past` the sequence before the first
 * entry, `rows` the flushes that hold the entries, and maybe some around them.
 */
const READING = `
${SIZE}
local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local length = redis.call('LLEN', entries)
local head = redis.call('HMGET', hash, 'end', 'gone', 'size')
local last = tonumber(head[1] or 0)
local start = last - length
local function timeOf(row) return tonumber(string.match(row, '^%d+')) end
local function endOf(row) return tonumber(string.match(row, '^%d+:(%d+)')) end
local function bytesOf(row) return tonumber(string.match(row, '%d+$')) end

-- At most n entries behind past, the first of them in the row at index row; up to limit bytes, but one entry at least. A
-- first row that was taken in part says too much of its bytes: it is left out of the estimate, and the entries are measured.
local function forward(row, past, n, limit)
  local rows, reach, bytes, estimate, more = {}, past, 0, 0, true
  while more do
    local part = redis.call('LRANGE', flushes, row + #rows, row + #rows + ${ROWS - 1})
    more = #part == ${ROWS}
    for _, text in ipairs(part) do
      if reach >= past + n or estimate > limit then more = false break end
      if #rows > 0 then estimate = estimate + bytesOf(text) end
      bytes = bytes + bytesOf(text)
      rows[#rows + 1] = text
      reach = math.min(endOf(text), past + n)
    end
  end
  if reach == past then return { past, {}, {} } end
  local found = redis.call('LRANGE', entries, int(past - start), int(reach - start - 1))
  if bytes > limit then
    local total, fitting = 0, #found
    for i, entry in ipairs(found) do
      total = total + #entry
      if total > limit and i > 1 then fitting = i - 1 break end
    end
    for i = #found, fitting + 1, -1 do found[i] = nil end
  end
  return { past, rows, found }
end
`

/** KEYS: l, b, h. ARGV: n, bytes. The oldest n; nothing is removed. */
export const PEEK = script(
  'streams.peek',
  ['no-writes'],
  `
${READING}
return forward(0, start, tonumber(ARGV[2]), tonumber(ARGV[3]))
`,
)

/** KEYS: l, b, h. ARGV: n, bytes. The oldest n, which are removed. */
export const POP = script(
  'streams.pop',
  ['allow-oom'],
  `
${READING}
local answer = forward(0, start, tonumber(ARGV[2]), tonumber(ARGV[3]))
local rows, popped = answer[2], #answer[3]
if popped == 0 then return answer end
local whole, gone, bytes = 0, nil, kept_bytes(head[3], last, length)
for _, row in ipairs(rows) do
  gone = row
  if endOf(row) > start + popped then break end
  whole = whole + 1
  bytes = bytes and bytes - bytesOf(row)
  if endOf(row) == start + popped then break end
end
redis.call('LTRIM', entries, int(popped), '-1')
if whole > 0 then redis.call('LTRIM', flushes, int(whole), '-1') end
redis.call('HSET', hash, 'gone', int(timeOf(gone)), 'size', bytes and size_text(last, length - popped, bytes) or '')
return answer
`,
)

/**
 * KEYS: l, b, h. ARGV: n, bytes, then ms and sequence of the id to begin behind, or nothing for the newest n. Returns
 * as {@link PEEK}, then what shows a gap: the sequence of the entry before the head, its ms or false.
 */
export const TAIL = script(
  'streams.tail',
  ['no-writes'],
  `
${READING}
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
  local at = search(function(row) return timeOf(row) > ms or (timeOf(row) == ms and endOf(row) > seq) end)
  local row = redis.call('LINDEX', flushes, at)
  if not row then return { last, {}, {} } end
  local past = at > 0 and endOf(redis.call('LINDEX', flushes, at - 1)) or start
  if timeOf(row) == ms then past = math.max(past, seq) end
  return forward(at, past, n, limit)
end
local function newest()
  local past = last - math.min(n, length)
  local first = search(function(row) return endOf(row) > past end)
  local rows, bytes, at = redis.call('LRANGE', flushes, first, '-1'), 0, 1
  for i = #rows, 1, -1 do
    at = i
    if bytes + bytesOf(rows[i]) > ${MAX_ANSWER_BYTES} then break end
    bytes = bytes + bytesOf(rows[i])
  end
  if past == last then return { past, {}, {} } end
  -- The entries of the row in which the bound falls are measured, newest first.
  local from, to = math.max(past, at > 1 and endOf(rows[at - 1]) or past), endOf(rows[at])
  if bytes + bytesOf(rows[at]) > ${MAX_ANSWER_BYTES} then
    local found = redis.call('LRANGE', entries, int(from - start), int(to - start - 1))
    for i = #found, 1, -1 do
      bytes = bytes + #found[i]
      if bytes > ${MAX_ANSWER_BYTES} and from + i < last then
        from = from + i
        break
      end
    end
  end
  return forward(first + at - 1, from, n, limit)
end
local answer = ARGV[4] and behind(tonumber(ARGV[4]), tonumber(ARGV[5])) or newest()
answer[4], answer[5] = start, head[2]
return answer
`,
)

/** KEYS: l. */
export const LENGTH = script('streams.length', ['no-writes'], `return redis.call('LLEN', KEYS[1])`)

/** KEYS: l, b, h. */
export const BYTES = script(
  'streams.bytes',
  ['no-writes'],
  `
${SIZE}
local head = redis.call('HMGET', KEYS[3], 'end', 'size')
return kept_bytes(head[2], tonumber(head[1] or 0), redis.call('LLEN', KEYS[1])) or counted_bytes()
`,
)

/**
 * KEYS: l, b, h. ARGV: the bytes that may remain. Returns { trimmed, 1 where there is more }. Runs at the memory limit:
 * it only shrinks.
 */
export const TRIM = script(
  'streams.trim',
  ['allow-oom'],
  `
${SIZE}
local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local length = redis.call('LLEN', entries)
if length == 0 then return { 0, 0 } end
local head = redis.call('HMGET', hash, 'end', 'size')
local last = tonumber(head[1] or 0)
local start, total = last - length, kept_bytes(head[2], last, length) or counted_bytes()
local past, rows, goneMs, removed, more = start, 0, nil, 0, false
for _, row in ipairs(redis.call('LRANGE', flushes, 0, ${TRIM_ROWS})) do
  local time, stop, size = string.match(row, '^(%d+):(%d+):(%d+)')
  local isOver = tonumber(time) <= now - ${STREAM_MAX_AGE_MS} or total > tonumber(ARGV[2])
  more = isOver and (rows == ${TRIM_ROWS} or removed >= ${TRIM_BYTES})
  if not isOver or more then break end
  past, rows, goneMs, removed, total = tonumber(stop), rows + 1, time, removed + size, total - size
end
if rows == 0 then return { 0, 0 } end
redis.call('LTRIM', entries, int(past - start), '-1')
redis.call('LTRIM', flushes, int(rows), '-1')
redis.call('HSET', hash, 'gone', goneMs, 'size', size_text(last, last - past, total))
return { past - start, more and 1 or 0 }
`,
)
