#!lua flags=allow-oom
-- Puts sorted tasks back into their tiers, for a type that has no group policy any more, in front of those that arrived
-- meanwhile. At most 1,000 per call. The times of rates stay, for the next policy.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     M  HASH with the numbers of the groups and of stale tickets
-- KEYS[5]     X  HASH of the ids with stale tickets
-- KEYS[6]     C  HASH of the last submit of each process
-- KEYS[7..13]  GT GQ GN GR GW GL GA  keys of the groups
-- KEYS[14]     WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua)
-- ARGV[3]     wake message
-- Returns 1 if more are left, else 0.
--- @keys P0 P1 P2 M X C GT GQ GN GR GW GL GA WM
--- @include "queue"
--- @include "stale-changes"
--- @include "now"

local STEP = 1000

if call('EXISTS', GQ, GN, GL, GA) == 0 then return 0 end
local found = call('ZRANGE', GQ, 0, STEP - 1, 'REV', 'WITHSCORES')
local tiers, tickets, moved = { {}, {}, {} }, {}, {}
for i = #found - 1, 1, -2 do
  local tier = floor(found[i + 1] / 2 ^ 50) + 1
  table.insert(tiers[tier], found[i])
  tickets[#tickets + 1] = found[i]
  local own, id = match(found[i], '^%d+|%d+|%d*|(%d)[%d|]*:(.*)$')
  if tier == 2 and own ~= '1' then moved[#moved + 1] = id end
end
push_front(tiers)
if #moved > 0 then
  open_stale(call('HGET', M, 'st'))
  learn_stale(moved)
  for i = 1, #moved do set_moved(moved[i], '1') end
  save_stale()
end
write('ZREM', GQ, tickets)
wake()
if call('EXISTS', GQ) == 1 then return 1 end
call('UNLINK', GT, GN, GR, GW, GL)
call('ZREMRANGEBYSCORE', GA, '-inf', now)
call('HDEL', M, 'gv', 'gf', 'gb')
return 0
