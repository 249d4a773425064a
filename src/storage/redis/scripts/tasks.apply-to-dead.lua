#!lua flags=allow-oom
-- Replays or removes the dead tasks with the given ids.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4..7]  T DZ DT DM  bodies, and the keys of dead tasks
-- KEYS[8]     M  HASH with the number of stale tickets
-- KEYS[9]     X  HASH of the ids with stale tickets
-- KEYS[10]    C  HASH of the last submit of each process
-- KEYS[11..12]  E DE  facts of tasks, and of dead tasks
-- KEYS[13..15]  DQ DI DG  groups of dead tasks
-- KEYS[16]      WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua)
-- ARGV[3]     wake message
-- ARGV[4]     'replay' or 'remove'
-- ARGV[5]     id of the replay, or ''
-- ARGV[6..]   ids
-- Returns 1 for each task that was dead, else 0.
--- @keys P0 P1 P2 T DZ DT DM M X C E DE DQ DI DG WM
--- @include "commands"
--- @include "ticket"
--- @include "queue"
--- @include "replay-dead"

local named = { unpack(ARGV, 6) }
local dead_records = fetch(DM, named)
local results, ids, theirs, seen = {}, {}, {}, {}
for i = 1, #named do
  local id = named[i]
  local found = dead_records[i] and not seen[id]
  results[i] = found and 1 or 0
  if found then
    seen[id] = true
    ids[#ids + 1] = id
    theirs[#theirs + 1] = dead_records[i]
  end
end
if ARGV[4] == 'replay' then
  replay_dead(ids, theirs, ARGV[5] ~= '' and ARGV[5] or nil)
  wake()
else
  write('HDEL', DT, ids)
  write('HDEL', DE, ids)
  remove_dead(ids)
end
return results
