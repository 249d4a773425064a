-- Queues tickets of a type with a group policy: it replaces queue.lua in the scripts of such types. groups.lua explains
-- how tasks are sorted. It needs the keys P0, P1, P2, T, M, X, C, D, WM, GT, GQ, GN, GR, GW and GL.
--- @include "commands"
--- @include "groups"
--- @include "wake"
--- @include "stale-trim"
-- Tickets of one tier that one call sorts.
local MAX_SORTED = 2000
local TIERS, woken = { P0, P1, P2 }, false

-- tiers: a list of tickets for each. Those at the front come first, the first of a list foremost.
local function sort_tickets(tiers, at_front)
  local ids, ranks, order, members, names = {}, {}, {}, {}, {}
  local count = #tiers[1] + #tiers[2] + #tiers[3]
  if count == 0 then return end
  local number = call('HINCRBY', M, at_front and 'gf' or 'gb', count) - count
  local tickets = {}
  for tier = 1, 3 do
    local list = tiers[tier]
    for i = 1, #list do
      number = number + 1
      local ticket = list[at_front and #list + 1 - i or i]
      tickets[#tickets + 1] = ticket
      ids[#ids + 1] = match(ticket, ':(.*)$')
      ranks[#ranks + 1] = (tier - 1) * 2 ^ 50 + 2 ^ 49 + (at_front and -number or number)
    end
  end
  learn_groups(ids)
  for i = 1, #ids do
    local rank, group = string.format('%016.0f', ranks[i]), known_groups[ids[i]]
    order[2 * i - 1], order[2 * i] = rank, tickets[i]
    members[2 * i - 1], members[2 * i] = 0, group .. GROUP_END .. rank .. tickets[i]
    names[2 * i - 1], names[2 * i] = ids[i], rank .. group
  end
  write('ZADD', GQ, order)
  write('ZADD', GT, members)
  write('HSET', GN, names)
  make_ready((distinct(ids)))
end
-- Sorts the tasks that arrived in the tiers, and forgets stale tickets. Returns whether more are left.
local function sort_arrivals()
  local st, tiers, more = nil, {}, false
  for t, key in ipairs(TIERS) do
    tiers[t] = {}
    local line = call('LRANGE', key, 0, MAX_SORTED - 1)
    if #line > 0 then
      if st == nil then
        st = call('HGET', M, 'st')
        open_stale(st or nil)
      end
      local ids = st and learn_tickets(line)
      for i = 1, #line do
        if st and is_stale(line[i], ids[i]) then
          drop_stale(ids[i], t - 1)
        else
          tiers[t][#tiers[t] + 1] = line[i]
          if st and stale_known[ids[i]] then set_moved(ids[i], '') end
        end
      end
      call('LTRIM', key, #line, -1)
      more = more or #line == MAX_SORTED
    end
  end
  if st then save_stale() end
  sort_tickets(tiers, false)
  return more
end

local function push_back(tiers)
  for t = 1, 3 do write('RPUSH', TIERS[t], tiers[t]) end
end
local function push_front(tiers) sort_tickets(tiers, true) end
local function wake()
  sort_arrivals()
  if woken then wake_masters(1) end -- Of another due time; a group that becomes ready wakes every master.
end
