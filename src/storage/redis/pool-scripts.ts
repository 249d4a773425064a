/**
 * @module storage/redis/pool-scripts
 * The scripts of `pools`. Eight keys per pool:
 *
 *   {p:P}:i  HASH  id → record, opaque here (pools.ts)
 *   {p:P}:g  HASH  id → what a claim asks about it, as lines: its size where that is large, and each tag that can be
 *                  matched; items without a line are not in it
 *   {p:P}:s  ZSET  id by the number of its first put: who is in the pool, in the order of `list`
 *   {p:P}:f  ZSET  free id by last use: below zero, by put, where never used, else the token of its last claim
 *   {p:P}:c  ZSET  claimed id by the end of its hold
 *   {p:P}:o  HASH  claimed id → token:owner
 *   {p:P}:e  ZSET  id by expiry, of those alone that have one
 *   {p:P}:m  HASH  `puts` so far, and the fence (fence.ts)
 *
 * An id is in `i` and `s`, and in either `f` or both `c` and `o`. What has expired is pruned before anything is
 * decided.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import { CHUNKS } from './chunks.ts'
import { FENCE } from './fence.ts'
import { PRUNED_PER_CALL } from './pruning.ts'
import { script } from './script.ts'

const MAX_ITEMS = 100_000
/** Items one claim looks at for a match, in pages of this size. */
const MAX_LOOKED_AT = 1_000
const PAGE = 100
/** What an item adds to an answer beside its texts. */
const ROW_BYTES = 256

const POOL = `
local records, tags, puts, free, claimed, owners, expiry, meta = unpack(KEYS)
${CHUNKS}
local function drop(ids)
  for _, hash in ipairs({records, tags, owners}) do write('HDEL', hash, ids) end
  for _, set in ipairs({puts, free, claimed, expiry}) do write('ZREM', set, ids) end
end
local expired = redis.call('ZRANGE', expiry, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ${PRUNED_PER_CALL})
drop(expired)
if #expired == ${PRUNED_PER_CALL} then return false end
`

/**
 * For claims named by id and token, `fields` of each from ARGV[2]: `untilOf(k)` is the end of the k-th one's hold, nil
 * where the claim is over or never was. Giving an item up is noted in `ends`, so that a repeat of it in the batch is
 * lost.
 */
const claims = (fields: number): string => `
local ids = {}
for k = 2, #ARGV, ${fields} do ids[#ids + 1] = ARGV[k] end
local held, times, ends = read('HMGET', owners, ids), read('ZMSCORE', claimed, ids), {}
for k, id in ipairs(ids) do ends[id] = tonumber(times[k] or 0) end
local function untilOf(k)
  local token = held[k] and string.match(held[k], '^%d+')
  if token and token == ARGV[${fields} * (k - 1) + 3] and ends[ids[k]] > now then return ends[ids[k]] end
end
`

/** ARGV: id, expiry ('' never), lines ('' none) and record of each. Returns 1 for each that is new. */
export const PUT = script(
  'pools.put',
  [],
  `
${POOL}
local ids = {}
for k = 2, #ARGV, 4 do ids[#ids + 1] = ARGV[k] end
local known, newest, created, results = read('ZMSCORE', puts, ids), {}, {}, {}
for k, id in ipairs(ids) do
  local isNew = not known[k] and not newest[id]
  if isNew then created[#created + 1] = id end
  newest[id], results[k] = k, isNew and 1 or 0
end
if #created > 0 and redis.call('ZCARD', puts) + #created > ${MAX_ITEMS} then return redis.error_reply('FULL a pool holds at most ${MAX_ITEMS} items; remove some first') end
local put = tonumber(redis.call('HGET', meta, 'puts') or 0)
local bodies, lines, plain, ending, endless, order, unused = {}, {}, {}, {}, {}, {}, {}
local function add(list, first, second)
  list[#list + 1] = first
  list[#list + 1] = second
end
for id, k in pairs(newest) do
  local at = 4 * k - 2
  add(bodies, id, ARGV[at + 3])
  if ARGV[at + 2] == '' then plain[#plain + 1] = id else add(lines, id, ARGV[at + 2]) end
  if ARGV[at + 1] == '' then endless[#endless + 1] = id else add(ending, ARGV[at + 1], id) end
end
for _, id in ipairs(created) do
  put = put + 1
  add(order, int(put), id)
  add(unused, int(put - 9007199254740992), id)
end
if #created > 0 then redis.call('HSET', meta, 'puts', int(put)) end
write('HSET', records, bodies)
write('HSET', tags, lines)
write('HDEL', tags, plain)
write('ZADD', expiry, ending)
write('ZREM', expiry, endless)
write('ZADD', puts, order)
write('ZADD', free, unused)
return results
`,
)

/** ARGV: id and token ('': any claim) of each. Returns 1 for each that was removed. */
export const REMOVE = script(
  'pools.remove',
  ['allow-oom'],
  `
${POOL}
${claims(2)}
local known, results, removed, gone = read('ZMSCORE', puts, ids), {}, {}, {}
for k, id in ipairs(ids) do
  local may = not gone[id] and known[k] and (ARGV[2 * k + 1] == '' or untilOf(k))
  results[k] = may and 1 or 0
  if may then
    removed[#removed + 1] = id
    gone[id] = true
  end
end
drop(removed)
return results
`,
)

/**
 * ARGV: run, number of requests, then owner, n, hold, number of wanted lines and these lines of each. Returns for each
 * request a list of id, token and record; every hold of one request ends at its now + hold, which comes last.
 *
 * Claims whose hold has passed return to `f` first, at the place of their last use. Requests without a match take what
 * is first in `f`; for the others pages of it are looked at. An answer ends at 32 MiB of large records, after one item
 * at least; what is left stays in its place. Records are read for what is taken alone.
 */
export const CLAIM = script(
  'pools.claim',
  [],
  `
${POOL}
${FENCE}
local over = redis.call('ZRANGE', claimed, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ${PRUNED_PER_CALL})
if #over > 0 then
  local back = {}
  for k, owner in ipairs(read('HMGET', owners, over)) do
    back[2 * k - 1] = string.match(owner, '^%d+')
    back[2 * k] = over[k]
  end
  write('ZADD', free, back)
  write('HDEL', owners, over)
  write('ZREM', claimed, over)
  if #over == ${PRUNED_PER_CALL} then return false end
end

local requests, asked, isMatching, at = {}, 0, false, 4
for k = 1, tonumber(ARGV[3]) do
  local wanted = {}
  for w = 1, tonumber(ARGV[at + 3]) do wanted[w] = ARGV[at + 3 + w] end
  requests[k] = {owner = ARGV[at], n = tonumber(ARGV[at + 1]), hold = tonumber(ARGV[at + 2]), wanted = wanted}
  asked = asked + requests[k].n
  isMatching = isMatching or #wanted > 0
  at = at + 4 + #wanted
end

local ids, lines, taken, first = {}, {}, {}, 1
local size, isAll = isMatching and ${PAGE} or asked, asked == 0
local function exists(pos)
  while pos > #ids and not isAll do
    local page = redis.call('ZRANGE', free, #ids, #ids + size - 1)
    for _, id in ipairs(page) do ids[#ids + 1] = id end
    isAll = #page < size
  end
  return pos <= #ids
end
local function linesOf(pos)
  if pos > #lines then
    for _, text in ipairs(redis.call('HMGET', tags, unpack(ids, #lines + 1, math.min(#lines + math.min(size, PIECE), #ids)))) do lines[#lines + 1] = text end
  end
  return lines[pos] or ''
end
local function matches(text, wanted)
  for _, line in ipairs(wanted) do
    if not string.find(text, line, 1, true) then return false end
  end
  return true
end
local chosen = {}
for _, request in ipairs(requests) do
  local pos, looked, bytes, isFull = first, 0, 0, false
  request.got = {}
  while not isFull and #request.got < request.n and (#request.wanted == 0 or looked < ${MAX_LOOKED_AT}) and exists(pos) do
    if not taken[pos] then
      looked = looked + 1
      local text = linesOf(pos)
      if matches(text, request.wanted) then
        bytes = bytes + tonumber(string.match(text, '^\\n#(%d+)\\n') or 0)
        isFull = bytes > ${MAX_ANSWER_BYTES} and #request.got > 0
        if not isFull then
          taken[pos] = true
          request.got[#request.got + 1] = ids[pos]
          chosen[#chosen + 1] = ids[pos]
        end
      end
    end
    pos = pos + 1
  end
  while taken[first] do first = first + 1 end
end

local bodies, fence = read('HMGET', records, chosen), redis.call('HMGET', meta, 'f', 'run')
local token = newest(fence[1], fence[2], ARGV[2])
local results, holds, held, n = {}, {}, {}, 0
for k, request in ipairs(requests) do
  local answer, untilMs = {}, now + request.hold
  for _, id in ipairs(request.got) do
    token, n = token + 1, n + 1
    held[2 * n - 1], held[2 * n] = id, int(token) .. ':' .. request.owner
    holds[2 * n - 1], holds[2 * n] = int(untilMs), id
    answer[#answer + 1] = id
    answer[#answer + 1] = token
    answer[#answer + 1] = bodies[n]
  end
  answer[#answer + 1] = untilMs
  results[k] = answer
end
if n > 0 then redis.call('HSET', meta, 'f', int(token), 'run', ARGV[2]) end
write('ZREM', free, chosen)
write('ZADD', claimed, holds)
write('HSET', owners, held)
return results
`,
)

/** ARGV: id, token and hold of each. Returns until when; 0: lost. */
export const EXTEND = script(
  'pools.extend',
  ['allow-oom'],
  `
${POOL}
${claims(3)}
local results, changed = {}, {}
for k, id in ipairs(ids) do
  local untilMs = untilOf(k)
  if untilMs then
    ends[id] = math.max(untilMs, now + tonumber(ARGV[3 * k + 1]))
    changed[#changed + 1] = int(ends[id])
    changed[#changed + 1] = id
  end
  results[k] = untilMs and ends[id] or 0
end
write('ZADD', claimed, changed)
return results
`,
)

/** ARGV: id and token of each. Returns 1 for each that was released; it is free at the place of this last use. */
export const RELEASE = script(
  'pools.release',
  ['allow-oom'],
  `
${POOL}
${claims(2)}
local results, released, back = {}, {}, {}
for k, id in ipairs(ids) do
  local isMine = untilOf(k)
  results[k] = isMine and 1 or 0
  if isMine then
    ends[id] = 0
    released[#released + 1] = id
    back[#back + 1] = ARGV[2 * k + 1]
    back[#back + 1] = id
  end
end
write('ZADD', free, back)
write('ZREM', claimed, released)
write('HDEL', owners, released)
return results
`,
)

/**
 * ARGV: n. Returns the size, then id, record and the end of the hold (0 free) of the first n, as far as an answer
 * reaches.
 */
export const LIST = script(
  'pools.list',
  ['allow-oom'],
  `
${POOL}
local answer, bytes = {redis.call('ZCARD', puts)}, 0
for from = 0, tonumber(ARGV[2]) - 1, ${PAGE} do
  local ids = redis.call('ZRANGE', puts, from, math.min(from + ${PAGE}, tonumber(ARGV[2])) - 1)
  if #ids == 0 then return answer end
  local times = redis.call('ZMSCORE', claimed, unpack(ids))
  for k, record in ipairs(redis.call('HMGET', records, unpack(ids))) do
    bytes = bytes + ${ROW_BYTES} + #ids[k] + #record
    if bytes > ${MAX_ANSWER_BYTES} and #answer > 1 then return answer end
    local untilMs = tonumber(times[k] or 0)
    answer[#answer + 1] = ids[k]
    answer[#answer + 1] = record
    answer[#answer + 1] = untilMs > now and untilMs or 0
  end
end
return answer
`,
)

export const SIZE = script(
  'pools.size',
  ['no-writes'],
  `
local puts, expiry = KEYS[1], KEYS[2]
return redis.call('ZCARD', puts) - redis.call('ZCOUNT', expiry, '-inf', int(now))
`,
)
