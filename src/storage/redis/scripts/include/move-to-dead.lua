-- Moves tasks to the dead-letter queue: items { id, max, t, error }, whose leases have ended already, with a failed
-- attempt each; t: the ticket. It needs the keys T, DZ, DT, DM, M, E and DE.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "move-bodies"
--- @include "ticket"
local function move_to_dead(dead)
  if #dead == 0 then return end
  local before = call('HINCRBY', M, 'died', #dead) - #dead
  local ids, order, dead_records = {}, {}, {}
  for i = 1, #dead do
    local one, ticket = dead[i], write_ticket(dead[i].t)
    ids[i] = one.id
    order[2 * i - 1] = before + i
    order[2 * i] = one.id
    dead_records[2 * i - 1] = one.id
    dead_records[2 * i] = int(now) .. ':' .. one.max .. ':' .. #ticket .. ':' .. ticket .. one.error
  end
  write('HSET', DM, dead_records)
  write('ZADD', DZ, order)
  move_bodies(T, DT, ids)
  move_bodies(E, DE, ids)
end
