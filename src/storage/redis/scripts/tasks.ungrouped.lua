#!lua flags=allow-oom
-- Reads dead tasks that are in no group yet, because a master of a release without groups moved them to the dead
-- letters. If such a master has taken tasks out of the dead letters, all groups are made again.
--
-- KEYS[1..2]  DZ DM  dead tasks by death, dead records
-- KEYS[3..5]  DQ DI DG  groups of dead tasks
-- KEYS[6]     M  HASH with the number of deaths, and of the last one in a group
-- ARGV[2]     maximum number of tasks
-- Returns nil if all dead tasks are in groups, else the numbers of the last deaths before and of these tasks, then id,
-- number of the death, and dead record of each.
--- @keys DZ DM DQ DI DG M
--- @include "commands"
--- @include "int"

local n, m = tonumber(ARGV[2]), call('HMGET', M, 'died', 'dl')
local died, grouped = tonumber(m[1] or 0), tonumber(m[2] or 0)
if grouped >= died then
  if call('HLEN', DQ) == call('ZCARD', DZ) then return false end
  call('UNLINK', DQ, DI, DG)
  call('HSET', M, 'dl', '0')
  grouped = 0
end
local found = call('ZRANGE', DZ, '(' .. int(grouped), '+inf', 'BYSCORE', 'LIMIT', 0, n, 'WITHSCORES')
local ids = {}
for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
local reply = { int(grouped), #ids == n and found[2 * n] or int(died) }
for i, dead_record in ipairs(fetch(DM, ids)) do
  reply[3 * i] = ids[i]
  reply[3 * i + 1] = found[2 * i]
  reply[3 * i + 2] = dead_record or ''
end
return reply
