#!lua flags=no-writes
-- Reads one page of the tasks of a place. A page begins at the position `at`, behind its first `skip` entries: at is a
-- tier if the place is pending, else a score.
--
-- KEYS[1..3]    P0 P1 P2  LISTs of pending tickets
-- KEYS[4]       T  HASH of bodies
-- KEYS[5..6]    V L  deadlines, leases
-- KEYS[7]       D  scheduled tickets
-- KEYS[8..10]   DZ DT DM  keys of dead tasks
-- KEYS[11]      M  HASH with the number of stale tickets
-- KEYS[12]      X  HASH of the ids with stale tickets
-- ARGV[2]       place: pending, in_flight, scheduled or dead
-- ARGV[3]       maximum number of rows, at most 500
-- ARGV[4]       maximum of bytes, exceeded by a single larger task
-- ARGV[5..6]    at, skip
-- Returns where the next page begins (at, skip) or false twice, then ticket, lease or dead record, score, and body of
-- each task.
--- @keys P0 P1 P2 T V L D DZ DT DM M X
--- @include "commands"
--- @include "stale"
--- @include "lease"
--- @include "tier-page"

local place, limit, most, at = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local skip = math.max(0, tonumber(ARGV[6]))
local next_at, next_skip = false, false
local records, ids, scores = {}, {}, {}

-- Tickets that are not stale stay; the others become false.
local function use_tickets(tickets)
  ids = learn_tickets(tickets)
  local st = call('HGET', M, 'st')
  for i = 1, #tickets do records[i] = not (st and is_stale(tickets[i], ids[i])) and tickets[i] end
end
local function ticket_in(record)
  if place == 'in_flight' then
    local _, ticket = read_lease(record)
    return ticket
  end
  return place == 'dead' and match(record, '^%d+:%d+:%d+:(.*)$') or record
end

if place == 'pending' then
  local tier = ({ P0, P1, P2 })[at + 1]
  if not tier then return { false, false } end -- A cursor comes from a client.
  local tickets = page_of(tier, skip, limit)
  use_tickets(tickets)
  if #tickets == limit then
    next_at, next_skip = at, skip + limit
  elseif at ~= '2' then
    next_at, next_skip = tostring(at + 1), 0
  end
else
  local key = ({ in_flight = V, scheduled = D, dead = DZ })[place]
  local found, members = call('ZRANGE', key, at, '+inf', 'BYSCORE', 'LIMIT', skip, limit, 'WITHSCORES'), {}
  for i = 1, #found, 2 do members[#members + 1], scores[#scores + 1] = found[i], found[i + 1] end
  if place == 'scheduled' then
    use_tickets(members)
  else
    ids, records = members, fetch(place == 'dead' and DM or L, members)
  end
  if #members == limit then next_at = scores[limit] end
end

local total, count, shown = 0, 0, {}
for i = 1, #ids do
  if records[i] then
    total = total + #records[i] + match(ticket_in(records[i]), '^%d+|(%d+)')
    if total > most and #shown > 0 then
      next_at = scores[i - 1] or at
      break
    end
    shown[#shown + 1] = i
  end
  count = i
end
if next_at and place == 'pending' then
  if count < #ids then next_skip = skip + count end
elseif next_at then
  next_skip = next_at == at and skip or 0
  for i = 1, count do
    if scores[i] == next_at then next_skip = next_skip + 1 end
  end
end

local shown_ids = {}
for i = 1, #shown do shown_ids[i] = ids[shown[i]] end
local bodies, reply = fetch(place == 'dead' and DT or T, shown_ids), { next_at, next_skip }
for i = 1, #shown do
  reply[#reply + 1] = records[shown[i]]
  reply[#reply + 1] = scores[shown[i]] or false
  reply[#reply + 1] = bodies[i]
end
return reply
