#!lua flags=no-writes
-- Finds out what is known of tasks. Bodies and outcomes are looked up only for tasks that are nowhere else, facts only
-- for those that are stored.
--
-- KEYS[1]    T   HASH of bodies
-- KEYS[2]    L   HASH of leases
-- KEYS[3]    S   SET of scheduled tasks
-- KEYS[4]    DM  HASH of dead records
-- KEYS[5]    O   HASH of outcomes
-- KEYS[6..7]  E DE  facts of tasks, and of dead tasks
-- ARGV[1]    time of a test, or ''
-- ARGV[2]    maximum of bytes
-- ARGV[3..]  ids
-- Returns for each of the first ids 0 unknown, 1 pending, 2 in flight, 3 scheduled, a dead record, or an outcome; then
-- facts or nil.
--- @keys T L S DM O E DE
--- @include "commands"
--- @include "now"

local ids, limit = { unpack(ARGV, 3) }, tonumber(ARGV[2])
local leases, scheduled, dead = fetch(L, ids), call('SMISMEMBER', S, unpack(ids)), fetch(DM, ids)
local function outcome_of(id)
  local outcome = call('HGET', O, id)
  return outcome and tonumber(match(outcome, '^%a|%d+|(%d+)')) > now and outcome or 0
end
local results, total = {}, 0
for i = 1, #ids do
  local state = dead[i] or (leases[i] and 2) or (scheduled[i] == 1 and 3)
  state = state or (call('HEXISTS', T, ids[i]) == 1 and 1) or outcome_of(ids[i])
  local facts = dead[i] and call('HGET', DE, ids[i])
  local may_have_facts = type(state) == 'number' and state > 0 and (not leases[i] or match(leases[i], '^%d+:00'))
  if may_have_facts then facts = call('HGET', E, ids[i]) end
  total = total + (type(state) == 'string' and #state or 0) + (facts and #facts or 0)
  if total > limit and i > 1 then break end
  results[2 * i - 1], results[2 * i] = state, facts or false
end
return results
