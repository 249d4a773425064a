#!lua flags=allow-oom
-- Schedules the retry of failed tasks, or moves them to the dead-letter queue.
--
-- KEYS[1]     T  HASH of bodies
-- KEYS[2..3]  V L  deadlines, leases
-- KEYS[4..5]  D S  scheduled tickets, scheduled ids
-- KEYS[6..8]  DZ DT DM  keys of dead tasks
-- KEYS[9]     M  HASH with the token counter and the running totals
-- KEYS[10..11]  E DE  facts of tasks, and of dead tasks
-- KEYS[12..14]  DQ DI DG  groups of dead tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     base of the delay in ms
-- ARGV[3]     factor of the delay
-- ARGV[4]     cap of the delay in ms
-- ARGV[5..]   id, token, error, delay in ms or '', '1' if permanent, jitter, bytes of the error of the attempt, and
--             group of the error of each
-- Returns for each 1 scheduled, 2 dead, or a code of include/lost-lease.lua.
--- @keys T V L D S DZ DT DM M E DE DQ DI DG
--- @include "commands"
--- @include "now"
--- @include "ticket"
--- @include "lease"
--- @include "lost-leases"
--- @include "facts"
--- @include "move-to-dead"
--- @group @include "groups"

local MAX_NUMBER = 1.7976931348623157e308

local base, factor, cap = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ids, n = {}, (#ARGV - 4) / 8
for i = 1, n do ids[i] = ARGV[8 * i - 3] end
local records = fetch(L, ids)
local results, ended, settled, dead, due, scheduled, runs = {}, {}, {}, {}, {}, {}, {}
for i = 1, n do
  local id, at = ids[i], 8 * i - 3
  if settled[id] or not is_held(records[i], ARGV[at + 1]) then
    results[i] = 0
  else
    settled[id] = true
    ended[#ended + 1] = id
    local max, ticket, worker = read_lease(records[i])
    local t = read_ticket(ticket)
    if t.max ~= '' then max = t.max end
    local growth = math.min(factor ^ t.attempt, MAX_NUMBER)
    local delay = tonumber(ARGV[at + 3]) or floor(ARGV[at + 5] * math.min(cap, base * growth))
    t.attempt = t.attempt + 1
    runs[#runs + 1] = { id = id, t = t, kind = 'failed', worker = worker, error = sub(ARGV[at + 2], 1, ARGV[at + 6]) }
    if ARGV[at + 4] == '1' or t.attempt >= tonumber(max) then
      results[i] = 2
      dead[#dead + 1] = { id = id, max = max, t = t, error = ARGV[at + 2], group = ARGV[at + 7] }
    else
      results[i] = 1
      due[#due + 1] = now + delay
      due[#due + 1] = t
      scheduled[#scheduled + 1] = id
    end
  end
end
set_lost_codes(results, function(i) return ARGV[8 * i - 2] end)
if #ended > 0 then
  add_attempts(runs)
  for i = 2, #due, 2 do due[i] = write_ticket(due[i]) end
  move_to_dead(dead)
  write('ZADD', D, due)
  write('SADD', S, scheduled)
  --- @group end_leases(ended)
  write('HDEL', L, ended)
  write('ZREM', V, ended)
  call('HINCRBY', M, 'nacked', #ended)
end
return results
