-- Keeps dead tasks in the groups of their errors (D157). The master finds the group of an error (error-pattern.ts).
--
--   DI  ZSET with equal scores, `group died number id`: in each group the tasks by death. `group` has 16 characters,
--       `died` 14 digits, `number`, that of the death, 16
--   DQ  HASH id -> `group died number`
--   DG  HASH group -> number of its tasks
--
-- `dl` of M is the number of the last death up to which all dead tasks are in groups. A master of an earlier release
-- moves tasks to the dead letters without it, and takes them out without a change of DI, DQ and DG; tasks.ungrouped.lua
-- finds both. It needs the keys DQ, DI and DG.
--- @include "commands"
--- @define MAX_DEAD_GROUPS
--- @define OTHER_GROUP
local GROUP_CHARS = 16

local function change_counts(changes)
  for group, n in pairs(changes) do
    if n ~= 0 and call('HINCRBY', DG, group, n) <= 0 then call('HDEL', DG, group) end
  end
end
local function take_out_of_groups(ids)
  local members, known, changes = {}, {}, {}
  for i, entry in ipairs(fetch(DQ, ids)) do
    if entry then
      local group = sub(entry, 1, GROUP_CHARS)
      members[#members + 1] = entry .. ids[i]
      known[#known + 1] = ids[i]
      changes[group] = (changes[group] or 0) - 1
    end
  end
  write('ZREM', DI, members)
  write('HDEL', DQ, known)
  change_counts(changes)
end
-- The groups of items that exist, or for which there is a place.
local function known_dead_groups(items)
  local known, names, left = {}, { OTHER_GROUP }, nil
  for i = 1, #items do
    if not known[items[i].group] then names[#names + 1] = items[i].group end
    known[items[i].group] = true
  end
  local counts = fetch(DG, names)
  for i = 2, #names do
    if not counts[i] then
      left = left or MAX_DEAD_GROUPS - call('HLEN', DG) + (counts[1] and 1 or 0)
      known[names[i]] = left > 0
      left = left - 1
    end
  end
  return known
end
-- items: { id, number, died, group }. Replaces what an earlier death of a task has left.
local function put_into_groups(items)
  local ids, members, entries, changes = {}, {}, {}, {}
  for i = 1, #items do ids[i] = items[i].id end
  take_out_of_groups(ids)
  local known = known_dead_groups(items)
  for i = 1, #items do
    local one = items[i]
    local group = known[one.group] and one.group or OTHER_GROUP
    local entry = group .. string.format('%014.0f%016.0f', one.died, one.number)
    members[2 * i - 1], members[2 * i] = 0, entry .. one.id
    entries[2 * i - 1], entries[2 * i] = one.id, entry
    changes[group] = (changes[group] or 0) + 1
  end
  write('ZADD', DI, members)
  write('HSET', DQ, entries)
  change_counts(changes)
end
