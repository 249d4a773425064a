-- Moves due tasks to the back of their tiers, in due order. Returns how many, and when the next one is due. It needs
-- the keys D and S.
--- @include "commands"
--- @include "now"
--- @include "queue"
local function promote(limit)
  local first = call('ZRANGE', D, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > now then return 0, first[2] end
  local due = call('ZRANGE', D, 0, limit, 'WITHSCORES')
  local tickets, ids, tiers, next_due = {}, {}, { {}, {}, {} }, nil
  for i = 1, #due, 2 do
    if #tickets == limit or tonumber(due[i + 1]) > now then
      next_due = due[i + 1]
      break
    end
    local tier, id = match(due[i], '^%d+|%d+|%d*|(%d)[%d|]*:(.*)$')
    table.insert(tickets, due[i])
    table.insert(ids, id)
    table.insert(tiers[tier + 1], due[i])
  end
  push_back(tiers)
  write('ZREM', D, tickets)
  write('SREM', S, ids)
  return #tickets, next_due
end
