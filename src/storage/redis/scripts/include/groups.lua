-- Keeps the tasks of a type with a group policy in groups (D119). Tasks arrive in the tiers P0, P1 and P2, as those of
-- any other type, and are sorted from there before the script ends. A sorted task is in
--
--   GQ  ZSET ticket by rank. The rank is `tier * 2^50 + 2^49` plus a number that grows at the back and sinks at the
--       front, so this is the order of an ungrouped type
--   GT  ZSET with equal scores, `group 0xFF rank ticket`: in each group the tickets by rank. 0xFF is in no UTF-8 text
--   GN  HASH id → rank (16 digits) and group; also of a task in flight
--
-- and each group with one of them is in GR, ZSET of ready groups by position, in GW, ZSET of groups by the time when
-- their rate permits the next start, or it has as many leases as it may. GL is a HASH of the leases by group, and GA a
-- ZSET of groups by the time until which their rate is used up. `gv` of M is the position at which a group becomes
-- ready: that of the last lease plus 1. `gf` and `gb` count the tasks that were sorted in at the front and at the back.
-- A task without a group is in the group ''.
--
-- The last arguments are the wake channel, the wake message, and the policy: most leases of a group or '', ms per start
-- or '', burst. They are taken off ARGV. It needs the keys T, M, GT, GQ, GN, GR, GW and GL.
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "bodies-per-read"
local BURST, INTERVAL = tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV))
local MAX_LEASES = tonumber(table.remove(ARGV)) or math.huge
local GROUPS_MESSAGE, GROUPS_CHANNEL = table.remove(ARGV), table.remove(ARGV)
local GROUP_END = '\255'
-- Groups by id, where this call knows them, and bodies by id.
local known_groups, known_bodies = {}, {}

-- Where the JSON string ends that begins at `from`.
local function string_end(body, from)
  local at = from + 1
  while true do
    local found = find(body, '["\\]', at)
    if not found or byte(body, found) == 34 then return found or #body end
    at = found + 2
  end
end
-- The group that a body names. Only the time of retention and the unique key come before it.
local function group_in(body)
  local from = match(sub(body, 1, 60), '^{"retain_seconds":[%d.]+,()') or 2
  if sub(body, from, from + 13) == '"unique_key":"' then from = string_end(body, from + 13) + 2 end
  if sub(body, from, from + 12) ~= '"group_key":"' then return '' end
  local text = sub(body, from + 12, string_end(body, from + 12))
  return find(text, '\\', 1, true) and cjson.decode('[' .. text .. ']')[1] or sub(text, 2, -2)
end
local function learn_groups(ids)
  local unknown = {}
  for i = 1, #ids do
    local id = ids[i]
    if known_bodies[id] and not known_groups[id] then known_groups[id] = group_in(known_bodies[id]) end
    if not known_groups[id] then unknown[#unknown + 1] = id end
  end
  for from = 1, #unknown, BODIES_PER_READ do
    local part = { unpack(unknown, from, math.min(from + BODIES_PER_READ - 1, #unknown)) }
    for i, body in ipairs(call('HMGET', T, unpack(part))) do known_groups[part[i]] = body and group_in(body) or '' end
  end
end

local function first_of_group(group, skip, n)
  return call('ZRANGE', GT, '[' .. group .. GROUP_END, '[' .. group .. GROUP_END .. ':', 'BYLEX', 'LIMIT', skip, n)
end
local function has_pending(group) return #first_of_group(group, 0, 1) > 0 end
-- Makes groups ready that have a pending task, fewer leases than they may, and are not ready yet.
local function make_ready(groups)
  local leases, waits, entries = fetch(GL, groups), {}, {}
  for from = 1, #groups, 2000 do
    local part = call('ZMSCORE', GW, unpack(groups, from, math.min(from + 1999, #groups)))
    for i = 1, #part do waits[from + i - 1] = part[i] end
  end
  local position = call('HGET', M, 'gv') or '0'
  for i = 1, #groups do
    if tonumber(leases[i] or 0) < MAX_LEASES and not waits[i] then
      entries[#entries + 1] = position
      entries[#entries + 1] = groups[i]
    end
  end
  if #entries == 0 then return end
  if call('EXISTS', GR) == 0 then call('PUBLISH', GROUPS_CHANNEL, GROUPS_MESSAGE) end
  for from = 1, #entries, 2000 do
    call('ZADD', GR, 'NX', unpack(entries, from, math.min(from + 1999, #entries)))
  end
end
local function distinct(ids)
  local groups, counts = {}, {}
  for i = 1, #ids do
    local group = known_groups[ids[i]]
    if group and not counts[group] then groups[#groups + 1] = group end
    if group then counts[group] = (counts[group] or 0) + 1 end
  end
  return groups, counts
end

-- Notes that leases have ended. What becomes of the tasks is up to the caller.
local function end_leases(ids)
  local entries = fetch(GN, ids)
  for i = 1, #ids do
    if entries[i] then known_groups[ids[i]] = sub(entries[i], 17) end
  end
  local groups, counts = distinct(ids)
  write('HDEL', GN, ids)
  local ready = {}
  for _, group in ipairs(groups) do
    local left = call('HINCRBY', GL, group, -counts[group])
    if left <= 0 then call('HDEL', GL, group) end
    local was_full = left < MAX_LEASES and left + counts[group] >= MAX_LEASES
    if was_full and has_pending(group) then ready[#ready + 1] = group end
  end
  make_ready(ready)
end
-- Takes pending tasks { id, tier } out of their groups. Returns those that are not sorted yet.
local function take_out(pending)
  local ids, rest, sorted, members = {}, {}, {}, {}
  for i = 1, #pending do ids[i] = pending[i].id end
  for i, entry in ipairs(fetch(GN, ids)) do
    local ticket = entry and call('ZRANGE', GQ, sub(entry, 1, 16), sub(entry, 1, 16), 'BYSCORE')[1]
    if ticket then
      known_groups[ids[i]] = sub(entry, 17)
      sorted[#sorted + 1] = ids[i]
      members[#members + 1] = sub(entry, 17) .. GROUP_END .. sub(entry, 1, 16) .. ticket
      call('ZREM', GQ, ticket)
    else
      rest[#rest + 1] = pending[i]
    end
  end
  write('ZREM', GT, members)
  write('HDEL', GN, sorted)
  local groups = distinct(sorted)
  for _, group in ipairs(groups) do
    if not has_pending(group) then
      call('ZREM', GR, group)
      call('ZREM', GW, group)
    end
  end
  return rest
end
