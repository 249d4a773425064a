#!lua flags=allow-oom
-- Replays or removes the oldest dead tasks of a group that died before a moment.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4..7]  T DZ DT DM  bodies, and the keys of dead tasks
-- KEYS[8]     M  HASH with the number of stale tickets
-- KEYS[9]     X  HASH of the ids with stale tickets
-- KEYS[10]    C  HASH of the last submit of each process
-- KEYS[11..12]  E DE  facts of tasks, and of dead tasks
-- KEYS[13..15]  DQ DI DG  groups of dead tasks
-- KEYS[16..17]  D S  scheduled tickets, scheduled ids
-- KEYS[18]      WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua)
-- ARGV[3]     wake message
-- ARGV[4]     group
-- ARGV[5]     'replay' or 'remove'
-- ARGV[6]     the moment
-- ARGV[7]     maximum number of tasks
-- ARGV[8..9]  ms until the first task is due, and from one task to the next; '' and '' if all become pending
-- ARGV[10]    id of the replay, or ''
-- Returns how many were looked at, and how many of them were replayed or removed.
--- @keys P0 P1 P2 T DZ DT DM M X C E DE DQ DI DG D S WM
--- @include "commands"
--- @include "ticket"
--- @include "queue"
--- @include "replay-dead"
--- @include "schedule-dead"
--- @include "dead-group-members"

local replay = ARGV[10] ~= '' and ARGV[10] or nil
local members = call('ZRANGE', DI, first_since(ARGV[4], 0), behind(ARGV[4], ARGV[6]), 'BYLEX', 'LIMIT', 0, ARGV[7])
if #members == 0 then return { 0, 0 } end
local ids, gone = {}, {}
for i = 1, #members do ids[i] = id_of(members[i]) end
local numbers, found = call('ZMSCORE', DZ, unpack(ids)), {}
for i = 1, #members do
  -- A master of a release without groups may have taken it out of the dead letters.
  local list = tonumber(numbers[i] or 0) == number_of(members[i]) and found or gone
  list[#list + 1] = ids[i]
end
take_out_of_groups(gone)
local dead_records = fetch(DM, found)
if ARGV[5] == 'remove' then
  write('HDEL', DT, found)
  write('HDEL', DE, found)
  remove_dead(found)
elseif ARGV[9] == '' then
  replay_dead(found, dead_records, replay)
  wake()
else
  schedule_dead(found, dead_records, tonumber(ARGV[8]), tonumber(ARGV[9]), replay)
end
return { #members, #found }
