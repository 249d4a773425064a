#!lua flags=no-writes
-- Counts tasks by place.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     D   ZSET of scheduled tickets
-- KEYS[5]     V   ZSET of tasks in flight
-- KEYS[6]     DZ  ZSET of dead tasks
-- KEYS[7]     M   HASH with the running totals and the pause
-- ARGV[1]     time of a test, or ''
-- Returns three lengths of pending tiers, those of D, V and DZ, four running totals, the pause that lasts or nil, then
-- the first ticket of each tier.
--- @keys P0 P1 P2 D V DZ M
--- @include "commands"
--- @include "pause"

local reply = {
  call('LLEN', P0), call('LLEN', P1), call('LLEN', P2), call('ZCARD', D), call('ZCARD', V), call('ZCARD', DZ),
}
local m = call('HMGET', M, 'submitted', 'acked', 'nacked', 'died', 'ps')
for i = 1, 4 do reply[#reply + 1] = tonumber(m[i] or 0) end
reply[#reply + 1] = lasting_pause(m[5]) or false
for i, tier in ipairs({ P0, P1, P2 }) do
  if reply[i] > 0 then reply[#reply + 1] = call('LINDEX', tier, 0) end
end
return reply
