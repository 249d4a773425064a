#!lua flags=allow-oom
-- Returns tasks whose lease has expired to the front of their tiers, or moves them to the dead-letter queue; promotes
-- due retries; forgets idempotency windows and outcomes that have ended, and facts and unique keys without a task. At
-- most `limit` of each, the earliest first.
--
-- KEYS[1..3]    P0 P1 P2  LISTs of pending tickets
-- KEYS[4]       T  HASH of bodies
-- KEYS[5..6]    V L  deadlines, leases
-- KEYS[7..8]    D S  scheduled tickets, scheduled ids
-- KEYS[9..11]   DZ DT DM  keys of dead tasks
-- KEYS[12..13]  I IZ  idempotency windows
-- KEYS[14]      M  HASH with the running totals
-- KEYS[15]      X  HASH of the ids with stale tickets
-- KEYS[16]      C  HASH of the last submit of each process
-- KEYS[17..18]  O OZ  outcomes
-- KEYS[19..20]  E DE  facts of tasks, and of dead tasks
-- KEYS[21]      U  HASH of the tasks that unique keys name
-- KEYS[22..24]  DQ DI DG  groups of dead tasks
-- KEYS[25]      WM  ZSET of the masters that wait for tasks
-- ARGV[1]       time of a test, or ''
-- ARGV[2]       wake channel, or its beginning (wake.lua)
-- ARGV[3]       wake message
-- ARGV[4]       number of lost leases at which a task dies, 0: never
-- ARGV[5]       limit
-- Returns { requeued, promoted, dead, forgotten keys, 1 if more is left, else 0 }.
--- @keys P0 P1 P2 T V L D S DZ DT DM I IZ M X C O OZ E DE U DQ DI DG WM
--- @define OUTCOME_BYTES
--- @define OUTCOMES_PER_SWEEP
--- @define LOST_LEASE_GROUP
--- @include "commands"
--- @include "now"
--- @include "ticket"
--- @include "lease"
--- @include "queue"
--- @include "promote"
--- @include "facts"
--- @include "facts-repair"
--- @include "move-to-dead"
--- @include "stale-repair"
--- @include "unique-repair"

-- Leases with the same deadline that are put in order.
local MOMENT = 5000

local max_lost, limit, more = tonumber(ARGV[4]), tonumber(ARGV[5]), false

local function past(key, most)
  most = most or limit
  local found = call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, most + 1)
  if #found > most then
    more = true
    found[#found] = nil
  end
  return found
end

-- The leases of one reserve share a deadline, and their tokens tell their order; so where the limit would part a
-- moment, all of that moment is looked at.
local ids = {}
local function overdue()
  local found = past(V)
  if #found == limit and more then
    local edge = call('ZSCORE', V, found[limit])
    found = call('ZRANGE', V, '-inf', edge, 'BYSCORE', 'LIMIT', 0, limit + MOMENT)
  end
  local records, scores, passed = fetch(L, found), {}, {}
  for i = 1, #found, 2000 do
    local part = call('ZMSCORE', V, unpack(found, i, math.min(i + 1999, #found)))
    for j = 1, #part do scores[i + j - 1] = tonumber(part[j]) end
  end
  for i = 1, #found do
    if records[i] then
      local token = tonumber(match(records[i], '^%d+'))
      passed[#passed + 1] = { deadline = scores[i], token = token, id = found[i], record = records[i] }
    else
      ids[#ids + 1] = found[i]
    end
  end
  table.sort(passed, function(a, b)
    return a.deadline < b.deadline or (a.deadline == b.deadline and a.token < b.token)
  end)
  for i = #passed, limit + 1, -1 do passed[i] = nil end
  return passed
end

local passed = overdue()
local back, dead, runs = { {}, {}, {} }, {}, {}
for _, lease in ipairs(passed) do
  ids[#ids + 1] = lease.id
  local max, old, worker = read_lease(lease.record)
  local t = read_ticket(old)
  t.lost = t.lost + 1
  runs[#runs + 1] = { id = lease.id, t = t, kind = 'lease_lost', worker = worker }
  if max_lost > 0 and t.lost >= max_lost then
    local error = 'lease lost ' .. t.lost .. ' times'
    local m = t.max ~= '' and t.max or max
    dead[#dead + 1] = { id = t.id, max = m, t = t, error = error, group = LOST_LEASE_GROUP }
  else
    table.insert(back[t.tier + 1], t)
  end
end
local keys = past(IZ)
local outcomes, outcome_bytes = past(OZ, math.min(limit, OUTCOMES_PER_SWEEP)), 0
for i = 1, #outcomes do
  outcome_bytes = outcome_bytes + OUTCOME_BYTES + #outcomes[i] + call('HSTRLEN', O, outcomes[i])
end

add_attempts(runs)
for tier = 1, 3 do
  for i, t in ipairs(back[tier]) do back[tier][i] = write_ticket(t) end
end
--- @group end_leases(ids)
move_to_dead(dead)
push_front(back)
write('ZREM', V, ids)
write('HDEL', L, ids)
local promoted, next_due = promote(limit)
if next_due and tonumber(next_due) <= now then more = true end
local st, fs, uc = unpack(call('HMGET', M, 'st', 'fs', 'uc'))
repair_stale(st)
repair_facts(fs)
if uc and forget_unique(uc) then more = true end
write('HDEL', I, keys)
write('ZREM', IZ, keys)
if #outcomes > 0 then
  write('HDEL', O, outcomes)
  write('ZREM', OZ, outcomes)
  call('HINCRBY', M, 'ob', int(-outcome_bytes))
end
wake()
return { #passed - #dead, promoted, #dead, #keys, more and 1 or 0 }
