#!lua flags=allow-oom
-- Puts dead tasks into groups that tasks.ungrouped.lua has read.
--
-- KEYS[1]     DZ  dead tasks by death
-- KEYS[2..4]  DQ DI DG  groups of dead tasks
-- KEYS[5]     M  HASH with the number of the last death in a group
-- ARGV[2..3]  numbers of the last deaths before and of these tasks
-- ARGV[4..]   id, number of the death, time of the death, and group of each
-- Returns how many; 0 also if another master was faster.
--- @keys DZ DQ DI DG M
--- @include "commands"
--- @include "dead-groups"

if (call('HGET', M, 'dl') or '0') ~= ARGV[2] then return 0 end
local items = {}
for at = 4, #ARGV, 4 do
  local number = tonumber(ARGV[at + 1])
  if tonumber(call('ZSCORE', DZ, ARGV[at]) or 0) == number then
    items[#items + 1] = { id = ARGV[at], number = number, died = tonumber(ARGV[at + 2]), group = ARGV[at + 3] }
  end
end
if #items > 0 then put_into_groups(items) end
call('HSET', M, 'dl', ARGV[3])
return #items
