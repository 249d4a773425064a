-- Schedules dead tasks, one every `interval` ms, with their attempts reset: a paced replay (D158). They keep their
-- tiers. `dead_records`: those of `ids`. It needs the keys D and S, and those of replay-dead.lua.
--- @include "commands"
--- @include "now"
--- @include "ticket"
--- @include "replay-dead"
local function schedule_dead(ids, dead_records, delay, interval, replay)
  local due, noted = {}, {}
  for i = 1, #ids do
    if dead_records[i] then
      local at = now + floor(delay + (i - 1) * interval)
      local t = revived(dead_records[i], at)
      due[#due + 1] = at
      due[#due + 1] = write_ticket(t)
      if look_has_facts(t.look) then noted[#noted + 1] = t.id end
    end
  end
  write('ZADD', D, due)
  write('SADD', S, ids)
  move_bodies(DT, T, ids)
  move_bodies(DE, E, noted)
  mark_replayed(noted, replay)
  remove_dead(ids)
end
