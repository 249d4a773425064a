-- Moves due tasks to the back of their tiers, in due order, and drops stale tickets. Returns how many were moved, and
-- when the next one is due. It needs the keys D, S, M, X and C.
--- @include "commands"
--- @include "now"
--- @include "queue"
--- @include "stale-trim"
local function promote(limit)
  local first = call('ZRANGE', D, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > now then return 0, first[2] end
  local due = call('ZRANGE', D, 0, limit, 'WITHSCORES')
  local tickets, ids, tiers, next_due = {}, {}, { {}, {}, {} }, nil
  local st = call('HGET', M, 'st')
  if st then
    open_stale(st)
    for i = 1, #due, 2 do tickets[#tickets + 1] = due[i] end
    learn_tickets(tickets)
    tickets = {}
  end
  for i = 1, #due, 2 do
    if #tickets == limit or tonumber(due[i + 1]) > now then
      next_due = due[i + 1]
      break
    end
    local tier, id = match(due[i], '^%d+|%d+|%d*|(%d)[%d|]*:(.*)$')
    table.insert(tickets, due[i])
    if st and is_stale(due[i], id) then
      drop_stale(id, 3)
    else
      table.insert(ids, id)
      table.insert(tiers[tier + 1], due[i])
    end
  end
  push_back(tiers)
  write('ZREM', D, tickets)
  write('SREM', S, ids)
  if st then
    next_due = trim_scheduled()
    save_stale()
  end
  return #ids, next_due
end
