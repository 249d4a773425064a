-- Moves dead tasks to the back of the normal tier, with their attempts reset. Returns how many. `dead_records`: those
-- of `ids`. It needs the keys P0, P1, P2, T, DZ, DT and DM.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "ticket"
--- @include "queue"
--- @include "move-bodies"
local function remove_dead(ids)
  write('HDEL', DM, ids)
  write('ZREM', DZ, ids)
end
local function replay_dead(ids, dead_records)
  local tickets = {}
  for i = 1, #ids do
    if dead_records[i] then
      local length, rest = match(dead_records[i], '^%d+:%d+:(%d+):(.*)$')
      local t = read_ticket(sub(rest, 1, length))
      t.attempt, t.lost = 0, 0
      if t.ttl ~= '' then t.expires = int(now + t.ttl) end
      tickets[#tickets + 1] = write_ticket(t)
    end
  end
  push_back({ {}, tickets, {} })
  move_bodies(DT, T, ids)
  remove_dead(ids)
  return #tickets
end
