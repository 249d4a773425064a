-- Moves dead tasks to the back of the normal tier, with their attempts reset. Returns how many. `dead_records`: those
-- of `ids`. It needs the keys P0, P1, P2, T, DZ, DT, DM, M, X, C, E, DE, DQ, DI and DG.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "ticket"
--- @include "queue"
--- @include "move-bodies"
--- @include "stale-changes"
--- @include "dead-groups"
--- @include "replays"
local function remove_dead(ids)
  write('HDEL', DM, ids)
  write('ZREM', DZ, ids)
  take_out_of_groups(ids)
end
-- A cancel has to know the tier of a ticket.
local function note_moved(ids)
  if #ids == 0 then return end
  open_stale(call('HGET', M, 'st'))
  learn_stale(ids)
  for i = 1, #ids do set_moved(ids[i], '1') end
  save_stale()
end
local function revived(dead_record, from)
  local length, rest = match(dead_record, '^%d+:%d+:(%d+):(.*)$')
  local t = read_ticket(sub(rest, 1, length))
  t.attempt, t.lost = 0, 0
  if t.ttl ~= '' then t.expires = int(from + t.ttl) end
  return t
end
-- Marks the facts of replayed tasks, whose ids are `noted`; removes the marks of an earlier replay if there is no id.
local function mark_replayed(noted, replay)
  if replay then open_replay(replay) end
  for i, facts in ipairs(fetch(E, noted)) do
    if facts then
      local marked = with_replay(facts, replay)
      if marked ~= facts then call('HSET', E, noted[i], marked) end
    end
  end
end
local function replay_dead(ids, dead_records, replay)
  local tickets, moved, noted = {}, {}, {}
  for i = 1, #ids do
    if dead_records[i] then
      local t = revived(dead_records[i], now)
      tickets[#tickets + 1] = write_ticket(t)
      if look_has_facts(t.look) then noted[#noted + 1] = t.id end
      if t.tier ~= 1 then moved[#moved + 1] = t.id end
    end
  end
  push_back({ {}, tickets, {} })
  move_bodies(DT, T, ids)
  move_bodies(DE, E, noted)
  mark_replayed(noted, replay)
  remove_dead(ids)
  note_moved(moved)
  return #tickets
end
