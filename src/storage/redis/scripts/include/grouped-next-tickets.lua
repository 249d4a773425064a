-- Reads the tickets next in line in fair turns of the groups (D119): it replaces next-tickets.lua. A turn is one ticket
-- of the ready group with the lowest position. All tickets are chosen before the first one is read, as if they
-- were in one tier. Nothing is written until it is known which of them were leased.
--- @include "commands"
--- @include "groups"
-- Groups that are looked at together.
local TURNS = 100
-- Groups whose rate permits a start again that one call makes ready.
local MAX_RESUMED = 1000
local TOLERANCE = INTERVAL and (BURST - 1) * INTERVAL
local chosen, turns, visited, is_wanted = {}, {}, {}, false

local function is_before(a, b)
  if a.position ~= b.position then return a.position < b.position end
  local x, y = a.name, b.name
  for i = 1, math.min(#x, #y) do
    local left, right = byte(x, i), byte(y, i)
    if left ~= right then return left < right end
  end
  return #x < #y
end
local function read_turns(from, wanted)
  local found, names, line = call('ZRANGE', GR, from, from + TURNS - 1, 'WITHSCORES'), {}, {}
  for i = 1, #found, 2 do names[#names + 1] = found[i] end
  local leases, size = fetch(GL, names), math.ceil(wanted / math.max(#names, 1))
  local used = TOLERANCE and #names > 0 and call('ZMSCORE', GA, unpack(names)) or {}
  for i = 1, #names do
    line[i] = {
      name = names[i], position = tonumber(found[2 * i]), leases = tonumber(leases[i] or 0),
      used_until = tonumber(used[i] or 0) or 0, skip = 0, at = 1, members = {}, size = size,
    }
  end
  return line
end
-- The next member of the group, without moving on.
local function member_of(group)
  if group.at > #group.members and not group.is_read then
    group.members, group.at = first_of_group(group.name, group.skip, group.size), 1
    group.skip = group.skip + #group.members
    group.is_read = #group.members < group.size
  end
  return group.members[group.at]
end
-- When the rate of the group permits the next start, if it does not permit it now.
local function start_of(group)
  local start = TOLERANCE and group.used_until - TOLERANCE
  return start and start > now and start
end
local function has_outlived(ticket)
  local expires = match(ticket, '^%d+|%d+|(%d*)|')
  return expires ~= '' and tonumber(expires) <= now
end
local function take_turn(group, member)
  local ticket = sub(member, #group.name + 18)
  group.at = group.at + 1
  chosen[#chosen + 1] = ticket
  turns[match(ticket, ':(.*)$')] = { group = group, member = member, ticket = ticket, position = group.position }
  return has_outlived(ticket)
end
local function resume_groups()
  local due = call('ZRANGE', GW, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_RESUMED)
  write('ZREM', GW, due)
  make_ready(due)
end

local function prepare(wanted)
  sort_arrivals()
  is_wanted = wanted > 0
  if TOLERANCE and is_wanted then resume_groups() end
  local heads, again, h, a, n, read, is_all = {}, {}, 1, 1, 0, 0, false
  while n < wanted and #chosen < wanted + MAX_RESUMED do
    if h > #heads and not is_all then
      heads, h = read_turns(read, wanted), 1
      read, is_all = read + #heads, #heads < TURNS
    end
    local group
    if heads[h] and not (again[a] and is_before(again[a], heads[h])) then
      group, h = heads[h], h + 1
      visited[#visited + 1] = group
    elseif again[a] then
      group, a = again[a], a + 1
    else
      break
    end
    local member
    if group.leases < MAX_LEASES and not start_of(group) then member = member_of(group) end
    while member and take_turn(group, member) do
      if #chosen >= wanted + MAX_RESUMED then break end
      member = member_of(group)
    end
    if member then
      n = n + 1
      group.leases, group.position = group.leases + 1, group.position + 1
      if TOLERANCE then group.used_until = math.max(group.used_until, now) + INTERVAL end
      if group.leases < MAX_LEASES then again[#again + 1] = group end
    end
  end
end
local function tickets_of(tier, from, count)
  return tier == 1 and { unpack(chosen, from + 1, math.min(from + count, #chosen)) } or {}
end
-- Without this function the tickets stay where they are, so nothing has to be undone. Returns when the next task is due
-- or a group may start.
local function cut_tickets(_, n, ids, leased, outlived, next_due)
  local tickets, members, gone = {}, {}, {}
  for _, group in ipairs(visited) do group.count, group.position = 0, nil end
  local function remove(id)
    tickets[#tickets + 1] = turns[id].ticket
    members[#members + 1] = turns[id].member
  end
  local is_leased, position = {}, nil
  for i = 1, #leased do
    is_leased[leased[i]] = true
    local turn = turns[leased[i]]
    turn.group.count = turn.group.count + 1
    turn.group.position, position = turn.position + 1, turn.position
  end
  for i = 1, n do
    remove(ids[i])
    if not is_leased[ids[i]] then gone[#gone + 1] = ids[i] end
  end
  for i = 1, #outlived do
    remove(outlived[i])
    gone[#gone + 1] = outlived[i]
  end
  write('ZREM', GQ, tickets)
  write('ZREM', GT, members)
  write('HDEL', GN, gone)
  if position then call('HSET', M, 'gv', int(position + 1)) end
  for _, group in ipairs(visited) do
    local name, leases = group.name, tonumber(call('HGET', GL, group.name) or 0)
    if group.count > 0 then
      leases = leases + group.count
      call('HSET', GL, name, leases)
      if TOLERANCE then
        local used = tonumber(call('ZSCORE', GA, name) or 0)
        for _ = 1, group.count do used = math.max(used, now) + INTERVAL end
        call('ZADD', GA, used, name)
        group.used_until = used
      end
    elseif TOLERANCE then
      group.used_until = tonumber(call('ZSCORE', GA, name) or 0)
    end
    local start = start_of(group)
    if leases >= MAX_LEASES or not has_pending(name) then
      call('ZREM', GR, name)
    elseif start then
      call('ZREM', GR, name)
      call('ZADD', GW, start, name)
    elseif group.position then
      call('ZADD', GR, group.position, name)
    end
  end
  local waiting = is_wanted and TOLERANCE and call('ZRANGE', GW, 0, 0, 'WITHSCORES')[2]
  if waiting and not (next_due and tonumber(next_due) <= tonumber(waiting)) then return int(math.ceil(waiting)) end
  return next_due
end
