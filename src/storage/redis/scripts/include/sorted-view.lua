-- Reads the pending tasks that are sorted into groups, in the order of an ungrouped type (groups.lua). It needs the
-- keys P0, P1, P2 and GQ.
--- @include "commands"
--- @include "int"
-- The lowest and the highest rank of a tier, which its list names.
local function ranks_of(tier)
  local number = (tier == P0 and 0) or (tier == P1 and 1) or 2
  return int(number * 2 ^ 50), '(' .. int((number + 1) * 2 ^ 50)
end
local function count_sorted(tier) return call('ZCOUNT', GQ, ranks_of(tier)) end
local function sorted_tickets(tier, skip, n)
  local lowest, highest = ranks_of(tier)
  return call('ZRANGE', GQ, lowest, highest, 'BYSCORE', 'LIMIT', skip, n)
end
-- At most n tickets: the sorted ones, then those of `line`.
local function with_sorted(tier, line, n)
  local tickets = sorted_tickets(tier, 0, n)
  for i = 1, math.min(#line, n - #tickets) do tickets[#tickets + 1] = line[i] end
  return tickets
end
