#!lua flags=no-writes
-- Counts tasks by place.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     D   ZSET of scheduled tickets
-- KEYS[5]     V   ZSET of tasks in flight
-- KEYS[6]     DZ  ZSET of dead tasks
-- KEYS[7]     M   HASH with the running totals, the pause and the number of stale tickets
-- KEYS[8]     X   HASH of the ids with stale tickets
-- ARGV[1]     time of a test, or ''
-- Returns three lengths of pending tiers, those of D, V and DZ, five running totals, the pause that lasts or nil, the
-- numbers of groups that are ready, that wait for their rate and that have leases, or nil for a type without groups,
-- then the first ticket of each tier. Stale tickets do not count.
--- @keys P0 P1 P2 D V DZ M X
--- @include "commands"
--- @include "pause"
--- @include "stale"
--- @group @include "sorted-view"

local reply = {
  call('LLEN', P0), call('LLEN', P1), call('LLEN', P2), call('ZCARD', D), call('ZCARD', V), call('ZCARD', DZ),
}
local m = call('HMGET', M, 'submitted', 'acked', 'nacked', 'died', 'cancelled', 'ps', 'st')
for i = 1, 5 do reply[#reply + 1] = tonumber(m[i] or 0) end
reply[#reply + 1] = lasting_pause(m[6]) or false
reply[#reply + 1] = false
--- @group local waiting = call('ZCOUNT', GW, '(' .. now, '+inf')
--- @group reply[#reply] = { call('ZCARD', GR) + call('ZCARD', GW) - waiting, waiting, call('HLEN', GL) }
if m[7] then
  local i = 0
  for stale in string.gmatch(m[7], '%d+') do
    i = i + 1
    if i <= 4 then reply[i] = math.max(0, reply[i] - stale) end
  end
end
for i, tier in ipairs({ P0, P1, P2 }) do
  if m[7] then
    reply[#reply + 1] = live_tickets(tier, 1)[1]
  elseif reply[i] > 0 then
    reply[#reply + 1] = call('LINDEX', tier, 0)
  end
end
--- @group for t, tier in ipairs({ P0, P1, P2 }) do
--- @group   reply[t] = reply[t] + count_sorted(tier)
--- @group   reply[#reply + 1] = sorted_tickets(tier, 0, 1)[1]
--- @group end
return reply
