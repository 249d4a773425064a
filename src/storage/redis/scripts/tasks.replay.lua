#!lua flags=allow-oom
-- Queues the first dead tasks again.
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
-- ARGV[4]     maximum number of tasks
-- ARGV[5]     greatest number of a death, or +inf
-- ARGV[6]     id of the replay, or ''
-- Returns how many were queued.
--- @keys P0 P1 P2 T DZ DT DM M X C E DE DQ DI DG WM
--- @include "commands"
--- @include "ticket"
--- @include "queue"
--- @include "replay-dead"

local ids = call('ZRANGE', DZ, '-inf', ARGV[5], 'BYSCORE', 'LIMIT', 0, ARGV[4])
local n = replay_dead(ids, fetch(DM, ids), ARGV[6] ~= '' and ARGV[6] or nil)
wake()
return n
