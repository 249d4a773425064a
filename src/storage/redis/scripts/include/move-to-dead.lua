-- Moves tasks to the dead-letter queue: items { id, max, t, error, group }, whose leases have ended already, with a
-- failed attempt each; t: the ticket; group: that of the error. It needs the keys T, DZ, DT, DM, M, E, DE, DQ, DI and
-- DG.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "move-bodies"
--- @include "ticket"
--- @include "dead-groups"
--- @include "replays"
-- Counts those that are part of a replay, and removes their marks.
local function count_died(dead)
  local ids, counts = {}, {}
  for i = 1, #dead do
    local replay = dead[i].t.replay
    if replay then
      ids[#ids + 1] = dead[i].id
      counts[replay] = (counts[replay] or 0) + 1
    end
  end
  for i, facts in ipairs(fetch(E, ids)) do
    if facts then call('HSET', E, ids[i], with_replay(facts)) end
  end
  count_replays('yx:', counts)
end
local function move_to_dead(dead)
  if #dead == 0 then return end
  count_died(dead)
  local before = call('HINCRBY', M, 'died', #dead) - #dead
  local ids, order, dead_records = {}, {}, {}
  for i = 1, #dead do
    local one, ticket = dead[i], write_ticket(dead[i].t)
    ids[i] = one.id
    order[2 * i - 1] = before + i
    order[2 * i] = one.id
    dead_records[2 * i - 1] = one.id
    one.number, one.died = before + i, now
    dead_records[2 * i] = int(now) .. ':' .. one.max .. ':' .. #ticket .. ':' .. ticket .. one.error
  end
  write('HSET', DM, dead_records)
  write('ZADD', DZ, order)
  move_bodies(T, DT, ids)
  move_bodies(E, DE, ids)
  put_into_groups(dead)
  if call('HGET', M, 'dl') == int(before) or before == 0 then call('HSET', M, 'dl', int(before + #dead)) end
end
