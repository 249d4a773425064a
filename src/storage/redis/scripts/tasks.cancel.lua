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
-- KEYS[14..15]  O OZ  outcomes
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      maximum number of outcomes
-- ARGV[3]      channel of finished tasks
-- ARGV[4]      beginning of its messages
-- ARGV[5]      who cancels
-- ARGV[6..]    ids
-- Returns for each 0 unknown, 1 was pending, 2 was scheduled, 3 is dead, 4 is done, 5 has expired, 6 was cancelled
-- before, or `token:worker` of the lease that ended.
--- @keys P0 P1 P2 T V L D S DM M X C E O OZ
--- @include "commands"
--- @group @include "groups"
--- @include "cancel-tasks"
--- @include "outcomes"

local ids, n = { unpack(ARGV, 6) }, #ARGV - 5
local tails, is_retained = {}, {}
for from = 1, n, BODIES_PER_READ do
  local bodies = fetch(T, { unpack(ids, from, math.min(from + BODIES_PER_READ - 1, n)) })
  for i = 1, #bodies do
    tails[from + i - 1] = bodies[i] and sub(bodies[i], -TAIL)
    is_retained[from + i - 1] = bodies[i] and sub(bodies[i], 1, 18) == '{"retain_seconds":'
  end
end
local leases, dead, scheduled = fetch(L, ids), fetch(DM, ids), call('SMISMEMBER', S, unpack(ids))
local st, fs = unpack(call('HMGET', M, 'st', 'fs'))
open_stale(st)
if st then learn_stale(ids) end

local KINDS = { d = 4, e = 5, c = 6 }
local unknown, ended_as = {}, {}
for i = 1, n do
  if not tails[i] and not dead[i] then unknown[#unknown + 1] = ids[i] end
end
for i, outcome in ipairs(fetch(O, unknown)) do
  local kind, expires = match(outcome or '', '^(%a)|%d+|(%d+)')
  ended_as[unknown[i]] = kind and tonumber(expires) > now_ms() and KINDS[kind]
end

local results, seen, cancelled, finished, outcomes = {}, {}, {}, {}, {}
for i = 1, n do
  local id, tail = ids[i], tails[i]
  if seen[id] or not tail then
    results[i] = not seen[id] and (dead[i] and 3 or ended_as[id]) or 0
  else
    if is_retained[i] then
      finished[#finished + 1] = id
      outcomes[#outcomes + 1] = { id = id, kind = 'c', attempt = 0, worker = ARGV[5], result = '', has_facts = fs }
    end
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
if #finished > 0 then
  keep_outcomes(outcomes, now_ms(), tonumber(ARGV[2]))
  call('PUBLISH', ARGV[3], ARGV[4] .. cjson.encode(finished))
end
if #cancelled > 0 then cancel_tasks(cancelled, fs) end
return results
