#!lua flags=allow-oom
-- Extends leases. No deadline becomes earlier.
--
-- KEYS[1..2]  V L  deadlines, leases
-- KEYS[3]     M  HASH with the token counter
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   id, token and visibility in ms of each
-- Returns for each the deadline in ms, or a code of include/lost-lease.lua.
--- @keys V L M
--- @include "commands"
--- @include "now"
--- @include "lease"
--- @include "lost-leases"

local ids, n = {}, (#ARGV - 1) / 3
for i = 1, n do ids[i] = ARGV[3 * i - 1] end
local records, deadlines = fetch(L, ids), call('ZMSCORE', V, unpack(ids))
local results, moved, later = {}, {}, {}
for i = 1, n do
  local id = ids[i]
  results[i] = 0
  if is_held(records[i], ARGV[3 * i]) then
    local old, till = later[id] or tonumber(deadlines[i]), now + ARGV[3 * i + 1]
    if till > old then
      later[id] = till
      moved[#moved + 1] = till
      moved[#moved + 1] = id
    end
    results[i] = math.max(old, till)
  end
end
set_lost_codes(results, function(i) return ARGV[3 * i] end)
write('ZADD', V, moved)
return results
