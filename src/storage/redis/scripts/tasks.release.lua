#!lua flags=allow-oom
-- Returns leased tasks to the front of their tiers, the first of them foremost.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4..5]  V L  deadlines, leases
-- KEYS[6]     M  HASH with the token counter
-- KEYS[7]     WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua)
-- ARGV[3]     wake message
-- ARGV[4..]   id and token of each
-- Returns nil if all are released, else for each 1, or a code of include/lost-lease.lua.
--- @keys P0 P1 P2 V L M WM
--- @include "commands"
--- @include "lease"
--- @include "lost-leases"
--- @include "queue"

local ids, n = {}, (#ARGV - 3) / 2
for i = 1, n do ids[i] = ARGV[2 * i + 2] end
local records = fetch(L, ids)
local results, lost, back, tiers, settled = {}, false, {}, { {}, {}, {} }, {}
for i = 1, n do
  local id = ids[i]
  if not settled[id] and is_held(records[i], ARGV[2 * i + 3]) then
    results[i], settled[id] = 1, true
    back[#back + 1] = id
    local _, ticket = read_lease(records[i])
    table.insert(tiers[match(ticket, '^%d+|%d+|%d*|(%d)') + 1], ticket)
  else
    results[i], lost = 0, true
  end
end
set_lost_codes(results, function(i) return ARGV[2 * i + 3] end)
if #back > 0 then
  --- @group end_leases(back)
  push_front(tiers)
  write('HDEL', L, back)
  write('ZREM', V, back)
  wake()
end
return lost and results
