#!lua flags=allow-oom
-- Removes tasks that are not dead. A pending task leaves a stale ticket (include/stale.lua), and so does a scheduled
-- one whose ticket is not found: only the ticket of a retry knows its time, and many tasks may be due at one time.
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
--- @include "bodies-per-read"
--- @include "int"
--- @include "stale-trim"

-- Tickets with one due time that are searched.
local MOMENT = 1000
-- Longer than all of a body that follows its payload.
local TAIL = 200

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

local moments = {}
local function ticket_of(id, tail)
  local due = match(tail, '"not_before":([%d.e+]+),"submitted_at":[%d.e+]+}$')
  if not due then return nil end
  local score = int(floor(due * 1000 + 0.5))
  if not moments[score] then
    local tickets, by_id = call('ZRANGE', D, score, score, 'BYSCORE', 'LIMIT', 0, MOMENT), {}
    local theirs = learn_tickets(tickets)
    for i = 1, #tickets do
      if not is_stale(tickets[i], theirs[i]) then by_id[theirs[i]] = tickets[i] end
    end
    moments[score] = by_id
  end
  return moments[score][id]
end
local function tier_of(tail)
  local priority = match(tail, '"priority":(%-?%d+)[%a_:",%d.+-]*}$')
  local number = tonumber(priority or 0)
  return (number > 0 and 0) or (number == 0 and 1) or 2
end

local results, seen, gone, ended, unscheduled, tickets, pending = {}, {}, {}, {}, {}, {}, {}
local left = {}
for i = 1, n do
  local id, tail = ids[i], tails[i]
  if seen[id] or not tail then
    results[i] = not seen[id] and dead[i] and 3 or 0
  else
    gone[#gone + 1] = id
    if leases[i] then
      local token, length, rest = match(leases[i], '^(%d+):%d*:(%d+):(.*)$')
      results[i] = token .. ':' .. sub(rest, 1, length)
      ended[#ended + 1] = id
    elseif scheduled[i] == 1 then
      results[i] = 2
      unscheduled[#unscheduled + 1] = id
      local ticket = ticket_of(id, tail)
      if ticket then tickets[#tickets + 1] = ticket else left[#left + 1] = id end
    else
      results[i] = 1
      pending[#pending + 1] = { id = id, tier = tier_of(tail) }
    end
  end
  seen[id] = true
end
if #gone == 0 then return results end

write('HDEL', T, gone)
if fs then write('HDEL', E, gone) end
write('HDEL', L, ended)
write('ZREM', V, ended)
write('SREM', S, unscheduled)
write('ZREM', D, tickets)
call('HINCRBY', M, 'cancelled', #gone)
for i = 1, #left do add_stale(left[i], 3) end
for i = 1, #pending do
  local id, tier = pending[i].id, pending[i].tier
  local known = stale_known[id]
  if known and known.moved ~= '' then
    tier = 1
    set_moved(id, '')
  end
  add_stale(id, tier)
end
trim_tier(P0, 0)
trim_tier(P1, 1)
trim_tier(P2, 2)
if stale_counts[4] > 0 then trim_scheduled() end
save_stale()
return results
