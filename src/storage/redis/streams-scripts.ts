/**
 * @module storage/redis/streams-scripts
 * The output stream of one automation type, under the tag `{o:T}`:
 *
 *   l   LIST of entries, oldest first
 *   b   LIST of flushes, one row a push: `ms:sequence of its last entry:bytes`; the first row may be taken in part
 *   h   HASH: `end` sequence of the newest entry, `ms` of the newest flush, `gone` ms of the newest entry that was
 *       removed, and `p<producer>` → `last sequence number of the producer:ms`
 *
 * Entries carry no id of their own: the entry before the head has the sequence end − LLEN l (`past` below), each next one
 * is one higher, and its time is that of its flush. So push and pop touch ends of lists alone, and no entry is rewritten.
 * Rows grow in both time and sequence, which is what the search of tail rests on.
 */
import { MAX_ANSWER_BYTES, STREAM_MAX_AGE_MS, STREAM_MAX_ENTRIES } from '../../protocol/index.ts'
import { script } from './script.ts'

/** Lives of masters whose pushes are still recognised as repeats; beyond it the one that was silent longest goes. */
const MAX_PRODUCERS = 1_000
/** `end`, `ms` and `gone`. */
const OWN_FIELDS = 3
/** Rows read at once while looking how far a read reaches. */
const ROWS = 100

/**
 * KEYS: l, b, h. ARGV: producer's field, its sequence number, channel, whether to publish unasked, then the entries.
 * Answers { length, trimmed }. Everything is published, in order, in the same step, unless nobody listens.
 */
export const PUSH = script(
  'streams.push',
  [],
  `
local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local producer, channel, first = ARGV[2], ARGV[4], 6
local head = redis.call('HMGET', hash, 'end', 'ms', producer)
local length = redis.call('LLEN', entries)
if head[3] and tonumber(ARGV[3]) <= tonumber(string.match(head[3], '^%d+')) then return { length, 0 } end

local bytes = 0
for i = first, #ARGV do bytes = bytes + #ARGV[i] end
local last = tonumber(head[1] or 0) + #ARGV - first + 1
local ms = math.max(tonumber(head[2] or 0), now)
local start = tonumber(head[1] or 0) - length

local function silentLongest()
  local fields, oldest, at = redis.call('HGETALL', hash), math.huge, nil
  for i = 1, #fields, 2 do
    local time = tonumber(string.match(fields[i + 1], ':(%d+)$'))
    if time and time < oldest then oldest, at = time, fields[i] end
  end
  return at
end
local evicted = not head[3] and redis.call('HLEN', hash) >= ${MAX_PRODUCERS + OWN_FIELDS} and silentLongest()

local past, rows, goneMs, begin = math.max(start, last - ${STREAM_MAX_ENTRIES}), 0, nil, start
local more, step = true, 1
while more do
  local part = redis.call('LRANGE', flushes, rows, rows + step - 1)
  more, step = #part == step, ${ROWS}
  for _, row in ipairs(part) do
    local time, stop = string.match(row, '^(%d+):(%d+)')
    stop = tonumber(stop)
    local isOver = stop <= past or tonumber(time) <= now - ${STREAM_MAX_AGE_MS}
    if isOver or past > begin then goneMs = time end
    if not isOver then more = false break end
    past, rows, begin = math.max(past, stop), rows + 1, stop
  end
end
local listened = channel ~= '' and (ARGV[5] == '1' or redis.call('PUBSUB', 'NUMPAT') > 0 or redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0)

redis.call('RPUSH', entries, unpack(ARGV, first))
redis.call('RPUSH', flushes, int(ms) .. ':' .. int(last) .. ':' .. int(bytes))
redis.call('HSET', hash, 'end', int(last), 'ms', int(ms), producer, ARGV[3] .. ':' .. int(now))
if past > start then
  redis.call('LTRIM', entries, int(past - start), '-1')
  redis.call('HSET', hash, 'gone', goneMs)
end
if rows > 0 then redis.call('LTRIM', flushes, int(rows), '-1') end
if evicted then redis.call('HDEL', hash, evicted) end
if listened then
  for i = first, #ARGV do redis.call('PUBLISH', channel, ARGV[i]) end
end
return { last - past, past - start }
`,
)

/**
 * Lua that the reading scripts share. What they answer is { past, rows, entries }: `past` the sequence before the first
 * entry, `rows` the flushes that hold the entries, and maybe some around them.
 */
const READING = `
local entries, flushes, hash = KEYS[1], KEYS[2], KEYS[3]
local length = redis.call('LLEN', entries)
local head = redis.call('HMGET', hash, 'end', 'gone')
local last = tonumber(head[1] or 0)
local start = last - length
local function timeOf(row) return tonumber(string.match(row, '^%d+')) end
local function endOf(row) return tonumber(string.match(row, '^%d+:(%d+)')) end
local function bytesOf(row) return tonumber(string.match(row, '%d+$')) end

-- At most n entries behind past, the first of them in the row at index row; 32 MiB, but one entry at least. A first row
-- that was taken in part says too much of its bytes: it is left out of the estimate, and the entries are measured.
local function forward(row, past, n)
  local rows, reach, bytes, estimate, more = {}, past, 0, 0, true
  while more do
    local part = redis.call('LRANGE', flushes, row + #rows, row + #rows + ${ROWS - 1})
    more = #part == ${ROWS}
    for _, text in ipairs(part) do
      if reach >= past + n or estimate > ${MAX_ANSWER_BYTES} then more = false break end
      if #rows > 0 then estimate = estimate + bytesOf(text) end
      bytes = bytes + bytesOf(text)
      rows[#rows + 1] = text
      reach = math.min(endOf(text), past + n)
    end
  end
  if reach == past then return { past, {}, {} } end
  local found = redis.call('LRANGE', entries, int(past - start), int(reach - start - 1))
  if bytes > ${MAX_ANSWER_BYTES} then
    local total, fitting = 0, #found
    for i, entry in ipairs(found) do
      total = total + #entry
      if total > ${MAX_ANSWER_BYTES} and i > 1 then fitting = i - 1 break end
    end
    for i = #found, fitting + 1, -1 do found[i] = nil end
  end
  return { past, rows, found }
end
`

/** KEYS: l, b, h. ARGV: n. The oldest n; nothing is removed. */
export const PEEK = script(
  'streams.peek',
  ['no-writes'],
  `
${READING}
return forward(0, start, tonumber(ARGV[2]))
`,
)

/** KEYS: l, b, h. ARGV: n. The oldest n, which are removed. */
export const POP = script(
  'streams.pop',
  ['allow-oom'],
  `
${READING}
local answer = forward(0, start, tonumber(ARGV[2]))
local rows, popped = answer[2], #answer[3]
if popped == 0 then return answer end
local whole, gone = 0, nil
for _, row in ipairs(rows) do
  gone = row
  if endOf(row) > start + popped then break end
  whole = whole + 1
  if endOf(row) == start + popped then break end
end
redis.call('LTRIM', entries, int(popped), '-1')
if whole > 0 then redis.call('LTRIM', flushes, int(whole), '-1') end
redis.call('HSET', hash, 'gone', int(timeOf(gone)))
return answer
`,
)

/**
 * KEYS: l, b, h. ARGV: n, then ms and sequence of the id to begin behind, or nothing for the newest n. Answers as
 * {@link PEEK}, and behind it what tells of a gap: the sequence of the entry before the head, its ms or false.
 */
export const TAIL = script(
  'streams.tail',
  ['no-writes'],
  `
${READING}
local n = tonumber(ARGV[2])
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
  return forward(at, past, n)
end
local function newest()
  local past = last - math.min(n, length)
  local rows = redis.call('LRANGE', flushes, search(function(row) return endOf(row) > past end), '-1')
  local bytes = 0
  for i = #rows, 1, -1 do
    bytes = bytes + bytesOf(rows[i])
    if bytes > ${MAX_ANSWER_BYTES} and i > 1 then
      past = math.max(past, endOf(rows[i - 1]))
      break
    end
  end
  if past == last then return { past, {}, {} } end
  local found, total = redis.call('LRANGE', entries, int(past - start), '-1'), 0
  for i = #found, 1, -1 do
    total = total + #found[i]
    if total > ${MAX_ANSWER_BYTES} and i < #found then
      local fitting = {}
      for k = i + 1, #found do fitting[k - i] = found[k] end
      return { past + i, rows, fitting }
    end
  end
  return { past, rows, found }
end
local answer = ARGV[3] and behind(tonumber(ARGV[3]), tonumber(ARGV[4])) or newest()
answer[4], answer[5] = start, head[2]
return answer
`,
)

/** KEYS: l. */
export const LENGTH = script('streams.length', ['no-writes'], `return redis.call('LLEN', KEYS[1])`)
