-- Removes tasks that are not dead. A pending task leaves a stale ticket (stale.lua), and so does a scheduled one whose
-- ticket is not found: only the ticket of a retry knows its time, and many tasks may be due at one time. It needs the
-- keys P0, P1, P2, T, V, L, D, S, M, X, C and E.
--- @include "commands"
--- @include "bodies-per-read"
--- @include "int"
--- @include "body-tail"
--- @include "stale-trim"

-- Tickets with one due time that are searched.
local MOMENT = 1000

local moments = {}
local function ticket_of(id, tail)
  local due = match(tail, '"not_before":([%d.e+]+),"submitted_at":[%d.e+]+}$')
  if not due then return nil end
  local score = int(floor(due * 1000 + 0.5))
  if not moments[score] then
    local tickets, by_id = call('ZRANGE', D, score, score, 'BYSCORE', 'LIMIT', 0, MOMENT), {}
    local theirs = learn_tickets(tickets)
    for i = 1, #tickets do
      if not is_stale(tickets[i], theirs[i]) then by_id[theirs[i]] = tickets[i] end
    end
    moments[score] = by_id
  end
  return moments[score][id]
end
local function tier_of(tail)
  local priority = match(tail, '"priority":(%-?%d+)[%a_:",%d.+-]*}$')
  local number = tonumber(priority or 0)
  return (number > 0 and 0) or (number == 0 and 1) or 2
end
-- tasks: { id, place (1 pending, 2 in flight, 3 scheduled), tail of the body } of each. The stale tickets of their ids
-- are known. fs: that of M.
local function cancel_tasks(tasks, fs)
  local gone, ended, unscheduled, tickets = {}, {}, {}, {}
  local left, pending = {}, {}
  for i = 1, #tasks do
    local id, place = tasks[i].id, tasks[i].place
    gone[i] = id
    if place == 2 then
      ended[#ended + 1] = id
    elseif place == 3 then
      unscheduled[#unscheduled + 1] = id
      local ticket = ticket_of(id, tasks[i].tail)
      if ticket then tickets[#tickets + 1] = ticket else left[#left + 1] = id end
    else
      pending[#pending + 1] = { id = id, tier = tier_of(tasks[i].tail) }
    end
  end
  --- @group pending = take_out(pending)
  --- @group end_leases(ended)
  write('HDEL', T, gone)
  if fs then write('HDEL', E, gone) end
  write('HDEL', L, ended)
  write('ZREM', V, ended)
  write('SREM', S, unscheduled)
  write('ZREM', D, tickets)
  call('HINCRBY', M, 'cancelled', #gone)
  for i = 1, #left do add_stale(left[i], 3) end
  for i = 1, #pending do
    local id, tier = pending[i].id, pending[i].tier
    local known = stale_known[id]
    if known and known.moved ~= '' then
      tier = 1
      set_moved(id, '')
    end
    add_stale(id, tier)
  end
  trim_tier(P0, 0)
  trim_tier(P1, 1)
  trim_tier(P2, 2)
  if stale_counts[4] > 0 then trim_scheduled() end
  save_stale()
end
