#!lua
-- Claims free items.
--
-- Claims whose hold has passed return to the free items first, at the place of their last use. Requests without a match
-- take the first free items; for the others, pages of the free items are searched. A response ends at
-- MAX_RESPONSE_BYTES of large records, but has at least one item; the rest stays in its place. Only records of claimed
-- items are read.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     run of the store
-- ARGV[3]     number of requests
-- ARGV[4..]   owner (pools.ts), n, hold in ms, number of wanted lines and these lines of each request
-- Returns for each request a list of id, token and record of each item, then the end of all its holds in ms. nil: 500
-- entries were pruned; run it again.
--- @define MAX_RESPONSE_BYTES
--- @include "now"
--- @include "int"
--- @include "pool"
--- @include "fence"
--- @include "pruning"

-- Items that one request may look at for a match.
local MAX_LOOKED_AT = 1000

local over = redis.call('ZRANGE', claimed, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, PRUNED_PER_CALL)
if #over > 0 then
  local back = {}
  for k, owner in ipairs(read('HMGET', owners, over)) do
    back[2 * k - 1] = string.match(owner, '^%d+')
    back[2 * k] = over[k]
  end
  write('ZADD', free, back)
  write('HDEL', owners, over)
  write('ZREM', claimed, over)
  if #over == PRUNED_PER_CALL then return false end
end

local requests, asked, isMatching, at = {}, 0, false, 4
for k = 1, tonumber(ARGV[3]) do
  local wanted = {}
  for w = 1, tonumber(ARGV[at + 3]) do wanted[w] = ARGV[at + 3 + w] end
  requests[k] = { owner = ARGV[at], n = tonumber(ARGV[at + 1]), hold = tonumber(ARGV[at + 2]), wanted = wanted }
  asked = asked + requests[k].n
  isMatching = isMatching or #wanted > 0
  at = at + 4 + #wanted
end

local ids, lines, taken, first = {}, {}, {}, 1
local size, isAll = isMatching and PAGE or asked, asked == 0
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
    local to = math.min(#lines + math.min(size, PIECE), #ids)
    for _, text in ipairs(redis.call('HMGET', tags, unpack(ids, #lines + 1, to))) do lines[#lines + 1] = text end
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
  while not isFull and #request.got < request.n and (#request.wanted == 0 or looked < MAX_LOOKED_AT) and exists(pos) do
    if not taken[pos] then
      looked = looked + 1
      local text = linesOf(pos)
      if matches(text, request.wanted) then
        bytes = bytes + tonumber(string.match(text, '^\n#(%d+)\n') or 0)
        isFull = bytes > MAX_RESPONSE_BYTES and #request.got > 0
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
  local result, untilMs = {}, now + request.hold
  for _, id in ipairs(request.got) do
    token, n = token + 1, n + 1
    held[2 * n - 1], held[2 * n] = id, int(token) .. ';0;' .. int(now) .. ';' .. request.owner
    holds[2 * n - 1], holds[2 * n] = int(untilMs), id
    result[#result + 1] = id
    result[#result + 1] = token
    result[#result + 1] = bodies[n]
  end
  result[#result + 1] = untilMs
  results[k] = result
end
if n > 0 then redis.call('HSET', meta, 'f', int(token), 'run', ARGV[2]) end
write('ZREM', free, chosen)
write('ZADD', claimed, holds)
write('HSET', owners, held)
return results
