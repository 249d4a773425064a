#!lua flags=allow-oom
-- Removes tasks that are not dead (include/cancel-tasks.lua).
--
-- KEYS[1..3]   P0 P1 P2  LISTs of pending tickets
-- KEYS[4]      T  HASH of bodies
-- KEYS[5..6]   V L  deadlines, leases
-- KEYS[7..8]   D S  scheduled tickets, scheduled ids
-- KEYS[9]      DM  HASH of dead records
-- KEYS[10]     M  HASH with the running totals and the number of stale tickets
-- KEYS[11]     X  HASH of the ids with stale tickets
-- KEYS[12]     C  HASH of the last submit of each process
-- KEYS[13]     E  HASH of facts
-- ARGV[2..]    ids
-- Returns for each 0 unknown, 1 was pending, 2 was scheduled, 3 is dead, or `token:worker` of the lease that ended.
--- @keys P0 P1 P2 T V L D S DM M X C E
--- @include "commands"
--- @include "cancel-tasks"

local ids, n = { unpack(ARGV, 2) }, #ARGV - 1
local tails = {}
for from = 1, n, BODIES_PER_READ do
  local bodies = fetch(T, { unpack(ids, from, math.min(from + BODIES_PER_READ - 1, n)) })
  for i = 1, #bodies do tails[from + i - 1] = bodies[i] and sub(bodies[i], -TAIL) end
end
local leases, dead, scheduled = fetch(L, ids), fetch(DM, ids), call('SMISMEMBER', S, unpack(ids))
local st, fs = unpack(call('HMGET', M, 'st', 'fs'))
open_stale(st)
if st then learn_stale(ids) end

local results, seen, cancelled = {}, {}, {}
for i = 1, n do
  local id, tail = ids[i], tails[i]
  if seen[id] or not tail then
    results[i] = not seen[id] and dead[i] and 3 or 0
  else
    local place = leases[i] and 2 or (scheduled[i] == 1 and 3) or 1
    if place == 2 then
      local token, length, rest = match(leases[i], '^(%d+):%d*:(%d+):(.*)$')
      results[i] = token .. ':' .. sub(rest, 1, length)
    else
      results[i] = place == 3 and 2 or 1
    end
    cancelled[#cancelled + 1] = { id = id, place = place, tail = tail }
  end
  seen[id] = true
end
if #cancelled > 0 then cancel_tasks(cancelled, fs) end
return results
