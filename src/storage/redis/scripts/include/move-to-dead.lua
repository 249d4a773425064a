-- Moves tasks to the dead-letter queue: items { id, max, ticket, error }, whose leases have ended already. It needs the
-- keys T, DZ, DT, DM and M.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "move-bodies"
local function move_to_dead(dead)
  if #dead == 0 then return end
  local before = call('HINCRBY', M, 'died', #dead) - #dead
  local ids, order, dead_records = {}, {}, {}
  for i = 1, #dead do
    local one = dead[i]
    ids[i] = one.id
    order[2 * i - 1] = before + i
    order[2 * i] = one.id
    dead_records[2 * i - 1] = one.id
    dead_records[2 * i] = int(now) .. ':' .. one.max .. ':' .. #one.ticket .. ':' .. one.ticket .. one.error
  end
  write('HSET', DM, dead_records)
  write('ZADD', DZ, order)
  move_bodies(T, DT, ids)
end
