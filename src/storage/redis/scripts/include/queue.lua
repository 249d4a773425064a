-- Queues tickets, a list of them per tier, and wakes masters if a tier was empty. It needs the keys P0, P1, P2 and WM,
-- and the arguments of wake.lua.
--- @include "commands"
--- @include "wake"
local TIERS, woken, arrived = { P0, P1, P2 }, false, 0
local function push_back(tiers)
  for t = 1, 3 do
    if #tiers[t] > 0 and write('RPUSH', TIERS[t], tiers[t]) == #tiers[t] then woken = true end
    arrived = arrived + #tiers[t]
  end
end
local function push_front(tiers)
  for t = 1, 3 do
    local list, reversed = tiers[t], {}
    for i = #list, 1, -1 do reversed[#reversed + 1] = list[i] end
    if #list > 0 and write('LPUSH', TIERS[t], reversed) == #list then woken = true end
    arrived = arrived + #list
  end
end
local function wake()
  if woken then wake_masters(arrived) end
end
