#!lua
-- Replaces the body of a dead task and replays it.
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
-- ARGV[4]     id
-- ARGV[5]     time of the death
-- ARGV[6]     body
-- ARGV[7]     1 if a reserve need not look at its bytes, else 0
-- Returns whether it was replayed, as 1 or 0.
--- @keys P0 P1 P2 T DZ DT DM M X C E DE DQ DI DG WM
--- @include "commands"
--- @include "ticket"
--- @include "queue"
--- @include "replay-dead"

local id, body = ARGV[4], ARGV[6]
local died, max, length, rest = match(call('HGET', DM, id) or '', '^(%d+):(%d+):(%d+):(.*)$')
if died ~= ARGV[5] then return 0 end
local t = read_ticket(sub(rest, 1, length))
t.bytes = #body
if ARGV[7] == '0' and t.look % 2 == 0 then t.look = t.look + 1 end
local ticket = write_ticket(t)
call('HSET', DT, id, body)
replay_dead({ id }, { died .. ':' .. max .. ':' .. #ticket .. ':' .. ticket })
wake()
return 1
