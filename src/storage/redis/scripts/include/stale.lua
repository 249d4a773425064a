-- Recognises tickets of cancelled tasks. A cancel removes a pending task, but its ticket stays in the list, because
-- LREM takes time in proportion to the queue; nor is the ticket of a retry found by id. Such a ticket is stale. The
-- hash X has a field for each id with stale tickets, and for each task that a replay put into another tier:
--
--   `places:generation:moved`   places: one digit per stale ticket, 0 to 2 its tier, 3 scheduled. generation: that of
--                               the only ticket of this id that is not stale; empty if there is none. moved: 1 for a
--                               pending task in the normal tier whose ticket names another one
--
-- A submit of an id with stale tickets draws a generation and writes it into its ticket (tasks-layout.ts), so the stale
-- ones are recognised in any tier and order, also if all were submitted in the same millisecond. `st` of M counts the
-- stale tickets by place and the moved tasks, as `high|normal|low|scheduled|moved`. While all are 0, it is missing, and
-- so is the field '' of C, from which a submit learns that it has to read X.
--
-- It needs the key X.
--- @include "commands"
-- Tickets that are read together.
local STALE_STEP = 100
local stale_known = {}
local function read_stale(field)
  if not field then return { places = '', generation = '', moved = '' } end
  local places, generation, moved = match(field, '^(%d*):(%d*):(%d*)$')
  return { places = places, generation = generation, moved = moved }
end
local function learn_stale(ids)
  local missing = {}
  for i = 1, #ids do
    if stale_known[ids[i]] == nil then
      stale_known[ids[i]] = false
      missing[#missing + 1] = ids[i]
    end
  end
  local fields = fetch(X, missing)
  for i = 1, #missing do
    if fields[i] then stale_known[missing[i]] = read_stale(fields[i]) end
  end
end
local function learn_tickets(tickets)
  local ids = {}
  for i = 1, #tickets do ids[i] = match(tickets[i], ':(.*)$') or '' end
  learn_stale(ids)
  return ids
end
local function generation_of(ticket)
  local digits = match(ticket, '^%d+')
  return digits and #digits > 16 and sub(digits, 1, -17) or '0'
end
local function is_stale(ticket, id)
  local known = stale_known[id]
  return known and known.places ~= '' and generation_of(ticket) ~= known.generation
end
-- The first `n` tickets of a tier that are not stale; fewer if more than MAX_STALE_READ are.
local MAX_STALE_READ = 10000
local function live_tickets(key, n)
  local live, from = {}, 0
  while #live < n and from < n + MAX_STALE_READ do
    local line = call('LRANGE', key, from, from + math.max(n - #live, STALE_STEP) - 1)
    if #line == 0 then break end
    local ids = learn_tickets(line)
    for i = 1, #line do
      if #live < n and not is_stale(line[i], ids[i]) then live[#live + 1] = line[i] end
    end
    from = from + #line
  end
  return live
end
