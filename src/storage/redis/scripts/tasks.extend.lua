#!lua flags=allow-oom
-- Extends leases, and stores the progress of their tasks. No deadline becomes earlier.
--
-- KEYS[1..2]  V L  deadlines, leases
-- KEYS[3]     M  HASH with the token counter
-- KEYS[4]     E  HASH of facts
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     number of leases
-- ARGV[3..]   id, token and visibility in ms of each, then position and progress of each lease that has progress
-- Returns for each the deadline in ms, or a code of include/lost-lease.lua.
--- @keys V L M E
--- @include "commands"
--- @include "now"
--- @include "lease"
--- @include "ticket"
--- @include "facts"
--- @include "lost-leases"

local ids, n = {}, tonumber(ARGV[2])
for i = 1, n do ids[i] = ARGV[3 * i] end
local records, deadlines = fetch(L, ids), call('ZMSCORE', V, unpack(ids))
local function lease_with_facts(record)
  local token, max, length, rest = match(record, '^(%d+):(%d+):(%d+):(.*)$')
  local t = read_ticket(sub(rest, length + 1))
  t.look = with_facts(t.look)
  return token .. ':00' .. max .. ':' .. length .. ':' .. sub(rest, 1, length) .. write_ticket(t)
end
local results, moved, later, given, reports = {}, {}, {}, {}, {}
for i = 3 + 3 * n, #ARGV, 2 do given[tonumber(ARGV[i])] = ARGV[i + 1] end
for i = 1, n do
  local id = ids[i]
  results[i] = 0
  if is_held(records[i], ARGV[3 * i + 1]) then
    local old, till = later[id] or tonumber(deadlines[i]), now + ARGV[3 * i + 2]
    if till > old then
      later[id] = till
      moved[#moved + 1] = till
      moved[#moved + 1] = id
    end
    results[i] = math.max(old, till)
    if given[i] then reports[id] = { lease = records[i], progress = given[i] } end
  end
end
set_lost_codes(results, function(i) return ARGV[3 * i + 1] end)
write('ZADD', V, moved)
if next(reports) then
  local rows, leases = {}, {}
  for id, report in pairs(reports) do
    local old = lease_has_facts(report.lease) and call('HGET', E, id)
    if not lease_has_facts(report.lease) then
      leases[#leases + 1] = id
      leases[#leases + 1] = lease_with_facts(report.lease)
    end
    local _, attempts = split_facts(old)
    rows[#rows + 1] = id
    rows[#rows + 1] = int(now) .. ' ' .. report.progress .. '\n' .. attempts
  end
  set_facts(rows)
  write('HSET', L, leases)
end
return results
