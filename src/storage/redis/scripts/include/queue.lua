-- Queues tickets, a list of them per tier, and wakes the masters if a tier was empty. It needs the keys P0, P1 and P2.
--
-- ARGV[2]  wake channel, or '' if there is no other master
-- ARGV[3]  wake message
--- @include "commands"
local TIERS, woken = { P0, P1, P2 }, false
local function push_back(tiers)
  for t = 1, 3 do
    if #tiers[t] > 0 and write('RPUSH', TIERS[t], tiers[t]) == #tiers[t] then woken = true end
  end
end
local function push_front(tiers)
  for t = 1, 3 do
    local list, reversed = tiers[t], {}
    for i = #list, 1, -1 do reversed[#reversed + 1] = list[i] end
    if #list > 0 and write('LPUSH', TIERS[t], reversed) == #list then woken = true end
  end
end
local function wake()
  if woken and ARGV[2] ~= '' then call('PUBLISH', ARGV[2], ARGV[3]) end
end
