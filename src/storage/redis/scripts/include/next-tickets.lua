-- Reads the tickets next in line for a reserve, and cuts those off that it has dealt with. It needs the keys P0, P1
-- and P2.
--- @include "commands"
--- @include "queue"
local function tickets_of(tier, from, count) return call('LRANGE', TIERS[tier], from, from + count - 1) end
-- cuts: how many of each tier. Returns when the next task is due.
local function cut_tickets(cuts, _, _, _, _, next_due)
  for t = 1, 3 do
    if cuts[t] > 0 then call('LTRIM', TIERS[t], cuts[t], -1) end
  end
  return next_due
end
