#!lua flags=no-writes
-- Reads the first pending tasks.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     T  HASH of bodies
-- KEYS[5]     M  HASH with the pause and the number of stale tickets
-- KEYS[6]     X  HASH of the ids with stale tickets
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     maximum number of tickets
-- ARGV[3]     maximum of bytes, exceeded by a single larger body
-- Returns { number of pending tasks, the pause that lasts or nil, tickets, bodies of the first tickets }.
--- @keys P0 P1 P2 T M X
--- @include "commands"
--- @include "pause"
--- @include "stale"
--- @group @include "sorted-view"

local n, limit, total, full, length = tonumber(ARGV[2]), tonumber(ARGV[3]), 0, false, 0
local tickets, ids = {}, {}
local paused, st = unpack(call('HMGET', M, 'ps', 'st'))
local function first_of(tier, count)
  if count == 0 then return {} end
  return st and live_tickets(tier, count) or call('LRANGE', tier, 0, count - 1)
end
for _, tier in ipairs({ P0, P1, P2 }) do
  length = length + call('LLEN', tier)
  local line = first_of(tier, n - #tickets)
  --- @group line, length = with_sorted(tier, line, n - #tickets), length + count_sorted(tier)
  for i = 1, #line do
    local bytes, id = match(line[i], '^%d+|(%d+)|[%d|]*:(.*)$')
    if id then
      tickets[#tickets + 1] = line[i]
      total = total + bytes + #id
      full = full or (total > limit and #ids > 0)
      if not full then ids[#ids + 1] = id end
    end
  end
end
if st then
  local high, normal, low = match(st, '^(%d+)|(%d+)|(%d+)')
  length = math.max(0, length - high - normal - low)
end
return { length, (lasting_pause(paused)) or false, tickets, fetch(T, ids) }
