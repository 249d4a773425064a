-- Moves dead tasks to the back of the normal tier, with their attempts reset. Returns how many. `dead_records`: those
-- of `ids`. It needs the keys P0, P1, P2, T, DZ, DT, DM, M, X, C, E and DE.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "ticket"
--- @include "queue"
--- @include "move-bodies"
--- @include "stale-changes"
local function remove_dead(ids)
  write('HDEL', DM, ids)
  write('ZREM', DZ, ids)
end
-- A cancel has to know the tier of a ticket.
local function note_moved(ids)
  if #ids == 0 then return end
  open_stale(call('HGET', M, 'st'))
  learn_stale(ids)
  for i = 1, #ids do set_moved(ids[i], '1') end
  save_stale()
end
local function replay_dead(ids, dead_records)
  local tickets, moved, noted = {}, {}, {}
  for i = 1, #ids do
    if dead_records[i] then
      local length, rest = match(dead_records[i], '^%d+:%d+:(%d+):(.*)$')
      local t = read_ticket(sub(rest, 1, length))
      t.attempt, t.lost = 0, 0
      if t.ttl ~= '' then t.expires = int(now + t.ttl) end
      tickets[#tickets + 1] = write_ticket(t)
      if look_has_facts(t.look) then noted[#noted + 1] = t.id end
      if t.tier ~= 1 then moved[#moved + 1] = t.id end
    end
  end
  push_back({ {}, tickets, {} })
  move_bodies(DT, T, ids)
  move_bodies(DE, E, noted)
  remove_dead(ids)
  note_moved(moved)
  return #tickets
end
