-- Reads pending tickets of a tier behind its first `skip`: it replaces tier-page.lua.
--- @include "commands"
--- @include "sorted-view"
local function page_of(tier, skip, n)
  local tickets, from = sorted_tickets(tier, skip, n), math.max(0, skip - count_sorted(tier))
  local line = #tickets < n and call('LRANGE', tier, from, from + n - #tickets - 1) or {}
  for i = 1, #line do tickets[#tickets + 1] = line[i] end
  return tickets
end
