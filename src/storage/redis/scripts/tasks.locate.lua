#!lua flags=no-writes
-- Finds out where tasks are. The body is looked up only for tasks that are nowhere else, a few at a time: it may be
-- large.
--
-- KEYS[1]    T   HASH of bodies
-- KEYS[2]    L   HASH of leases
-- KEYS[3]    S   SET of scheduled tasks
-- KEYS[4]    DM  HASH of dead records
-- ARGV[2..]  ids
-- Returns for each 0 unknown, 1 pending, 2 in flight, 3 scheduled or 4 dead.
--- @keys T L S DM
--- @include "commands"
--- @include "bodies-per-read"

local ids = { unpack(ARGV, 2) }
local leases, scheduled, dead = fetch(L, ids), call('SMISMEMBER', S, unpack(ids)), fetch(DM, ids)
local results, others = {}, {}
for i = 1, #ids do
  results[i] = (dead[i] and 4) or (leases[i] and 2) or (scheduled[i] == 1 and 3) or 0
  if results[i] == 0 then others[#others + 1] = i end
end
for from = 1, #others, BODIES_PER_READ do
  local part = {}
  for i = from, math.min(from + BODIES_PER_READ - 1, #others) do part[#part + 1] = ids[others[i]] end
  for i, body in ipairs(call('HMGET', T, unpack(part))) do results[others[from + i - 1]] = body and 1 or 0 end
end
return results
