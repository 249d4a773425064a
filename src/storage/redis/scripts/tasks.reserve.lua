#!lua flags=allow-oom
-- Leases the tasks next in line. The requests that are not rejected fill up in order. tasks-reserve.ts explains tokens
-- and repeated calls. The tickets are read without regard to cancelled tasks, and a second time where some are stale.
--
-- KEYS[1..3]    P0 P1 P2  LISTs of pending tickets
-- KEYS[4..7]    K0 K1 K2 K3  bitmaps of acknowledged tokens
-- KEYS[8]       T  HASH of bodies
-- KEYS[9..10]   V L  deadlines, leases
-- KEYS[11..12]  D S  scheduled tickets, scheduled ids
-- KEYS[13]      M  HASH with the token counter and the pause
-- KEYS[14]      R  HASH of the last reserve of each process
-- KEYS[15..16]  G DR  generations and drains of workers, from the registry
-- KEYS[17]      X  HASH of the ids with stale tickets
-- KEYS[18]      C  HASH of the last submit of each process
-- KEYS[19..20]  O OZ  outcomes
-- KEYS[21]      E  HASH of facts
-- KEYS[22]      WM  ZSET of the masters that wait for tasks
-- ARGV[1]       time of a test, or ''
-- ARGV[2]       wake channel, or its beginning (wake.lua)
-- ARGV[3]       wake message
-- ARGV[4]       visibility in ms
-- ARGV[5]       run of the store
-- ARGV[6]       slot of the call
-- ARGV[7]       number of the call
-- ARGV[8]       number of the first call of the slot whose result was lost
-- ARGV[9]       maximum number of outcomes
-- ARGV[10]      the process that waits for the tasks, or '' if there is no other master
-- ARGV[11..]    worker, limit, generation and default max attempts of each request
-- Returns deadline in ms, the token before the first one, number of dropped tasks, when the next retry is due or the
-- pause ends that held tasks back, or nil, one letter per request (u unknown, d draining, s stale, o ok), a list of the
-- positions of leases with progress and their progress, or nil, then ticket and body of each lease.
--- @keys P0 P1 P2 K0 K1 K2 K3 T V L D S M R G DR X C O OZ E WM
--- @include "commands"
--- @define MAX_RESERVED_PER_CALL
--- @define MAX_RESERVE_BYTES
--- @include "now"
--- @include "int"
--- @include "fence"
--- @include "lease"
--- @include "ticket"
--- @include "queue"
--- @include "next-tickets"
--- @include "promote"
--- @include "call-slots"
--- @include "pause"
--- @include "outcomes"

-- Retries that one call promotes.
local MAX_PROMOTED = 1000
-- Tickets that one call drops, of tasks that outlived their ttl or were cancelled.
local MAX_DROPS = 1000
-- Tickets that are looked at together after some were dropped.
local REFILL = 100

local slot, number = ARGV[6], tonumber(ARGV[7])
local last = call('HGET', R, slot)
local evicted = not last and evicted_from(R)
local function give_back(before, lost)
  local records, back, tiers = fetch(L, lost), {}, { {}, {}, {} }
  for i = 1, #lost do
    if is_held(records[i], int(before + i)) then
      local _, ticket = read_lease(records[i])
      back[#back + 1] = lost[i]
      table.insert(tiers[match(ticket, '^%d+|%d+|%d*|(%d)') + 1], ticket)
    end
  end
  --- @group end_leases(back)
  push_front(tiers)
  write('HDEL', L, back)
  write('ZREM', V, back)
end
if last then
  local of, before, lost = match(last, '^(%d+):%d+:(%d+):(.*)$')
  if tonumber(of) > number then return redis.error_reply('OVERTAKEN a later call of this slot was carried out') end
  if tonumber(of) >= tonumber(ARGV[8]) then give_back(tonumber(before), cjson.decode(lost)) end
end
local workers = {}
for i = 11, #ARGV, 4 do workers[#workers + 1] = ARGV[i] end
local gens, drains = fetch(G, workers), fetch(DR, workers)
local limits, letters, wanted = {}, {}, 0
for k = 1, #workers do
  local at = 7 + 4 * k
  local letter = (not gens[k] and 'u') or (drains[k] and 'd') or (gens[k] ~= ARGV[at + 2] and 's') or 'o'
  letters[k], limits[k] = letter, letter == 'o' and tonumber(ARGV[at + 1]) or 0
  wanted = wanted + limits[k]
end
letters = table.concat(letters)
wanted = math.min(wanted, MAX_RESERVED_PER_CALL)
local _, next_due = promote(MAX_PROMOTED)
--- @group prepare(wanted)

local tickets, ids, n, outlived, drops, cancelled, room, full, cuts, m
local marks, ended, noted -- By number of the lease; tasks that are dropped, and those of them with facts.
for pass = 1, 2 do
  tickets, ids, n, outlived, drops, cancelled, room, full, cuts = {}, {}, 0, {}, 0, {}, nil, false, { 0, 0, 0 }
  marks, ended, noted = {}, {}, {}
  for t = 1, 3 do
    local count = wanted - n
    while count > 0 and not full do
      local line = tickets_of(t, cuts[t], count)
      if pass == 2 then learn_tickets(line) end
      for i = 1, #line do
        if n == wanted then
          full = true
          break
        end
        local ticket = line[i]
        local colon = find(ticket, ':', 1, true)
        local id, over, size, stale, look = colon and sub(ticket, colon + 1), not colon, nil, nil, 48
        if pass == 2 then stale = is_stale(ticket, id) end
        if colon then look = byte(ticket, colon - 1) end
        if look ~= 48 and not stale then
          local bytes, expires = match(ticket, '^%d+|(%d+)|(%d*)')
          size = tonumber(bytes)
          over = not bytes or (expires ~= '' and tonumber(expires) <= now)
        end
        if stale or over then
          if drops + #cancelled == MAX_DROPS then
            full = true
            break
          end
          if stale then
            cancelled[#cancelled + 1] = { id = id, place = t - 1 }
          else
            drops = drops + 1
            outlived[#outlived + 1] = id or nil
            if look_has_facts(look) then noted[#noted + 1] = id end
            if look >= 52 then
              local attempt = match(ticket, '^%d+|%d+|%d*|%d|%d*|%d*|(%d+)')
              ended[#ended + 1] = {
                id = id, kind = 'e', attempt = attempt, worker = '', result = '', has_facts = look_has_facts(look),
              }
            end
          end
        else
          if room and size and size > room then
            full = true
            break
          end
          room = (room or MAX_RESERVE_BYTES) - (size or 0)
          n = n + 1
          ids[n], tickets[n] = id, ticket
          if look > 49 then marks[n] = (look >= 52 and 1 or 0) + (look_has_facts(look) and 2 or 0) end
        end
        cuts[t] = cuts[t] + 1
      end
      if #line < count then break end
      count = wanted - n
      if count > 0 then count = math.max(count, REFILL) end
    end
  end
  local is_pending = n > 0 or drops > 0
  --- @group is_pending = is_pending or (wanted > 0 and call('ZCARD', GQ) > 0)
  m = m or (is_pending and call('HMGET', M, 'f', 'run', 'n', 'ps', 'st'))
  if pass == 2 or not (m and m[5]) then break end
  open_stale(m[5])
end

local pause, pause_end = lasting_pause(m and m[4])
if pause then
  n, drops, outlived, cancelled, ended, noted, cuts = 0, 0, {}, {}, {}, {}, { 0, 0, 0 }
  if pause_end and not (next_due and tonumber(next_due) < pause_end) then next_due = int(pause_end) end
end

local function save_cut()
  for i = 1, #cancelled do drop_stale(cancelled[i].id, cancelled[i].place) end
  for i = 1, cuts[2] > 0 and n or 0 do
    if stale_known[ids[i]] then set_moved(ids[i], '') end
  end
  for i = 1, #outlived do
    if stale_known[outlived[i]] then set_moved(outlived[i], '') end
  end
  save_stale()
end
local function cut(before, leased)
  if evicted then call('HDEL', R, evicted) end
  call('HSET', R, slot, ARGV[7] .. ':' .. int(now) .. ':' .. int(before) .. ':' .. cjson.encode(leased))
  next_due = cut_tickets(cuts, n, ids, leased, outlived, next_due)
  keep_outcomes(ended, now, tonumber(ARGV[9]))
  write('HDEL', T, outlived)
  write('HDEL', E, noted)
  if m and m[5] then save_cut() end
  local may_be_more = full or n == wanted
  if may_be_more then
    if woken and registering then wake_one(ARGV[10]) end -- The result does not show how many tasks became due.
    wake()
    if registering and not woken and call('EXISTS', P0, P1, P2) > 0 then wake_registered(1) end
  elseif ARGV[10] ~= '' then
    call('ZADD', WM, int(now), ARGV[10])
  end
end
if n == 0 then
  cut(0, {})
  return { 0, 0, drops, next_due or false, letters }
end

local function facts_of_marked()
  local marked, known = {}, {}
  for i, mark in pairs(marks) do
    if mark >= 2 then marked[#marked + 1] = ids[i] end
  end
  for i, facts in ipairs(fetch(E, marked)) do known[marked[i]] = facts end
  return known
end
local bodies = fetch(T, ids)
local first = newest(m[1], m[2], ARGV[5])
if floor((first + n) / SEGMENT) > floor(first / SEGMENT) then first = math.ceil((first + 1) / SEGMENT) * SEGMENT end
local deadline = int(now + ARGV[4])
local deadlines, leases, leased, live = {}, {}, {}, 0
local reply, reports = { tonumber(deadline), first, 0, next_due or false, letters, false }, {}
local known = next(marks) and facts_of_marked() or {}
local k, left, stem = 0, 0, nil
for i = 1, n do
  if bodies[i] then
    while left == 0 do
      k = k + 1
      left = limits[k]
      stem = ARGV[10 + 4 * k] .. ':' .. #workers[k] .. ':' .. workers[k]
    end
    left = left - 1
    local id, ticket, odd = ids[i], tickets[i], 2 * live + 1
    live = live + 1
    leased[live] = id
    deadlines[odd], deadlines[odd + 1] = deadline, id
    leases[odd], leases[odd + 1] = id, int(first + live) .. LEASE_MARKS[marks[i] or 0] .. stem .. ticket
    reply[odd + 6], reply[odd + 7] = ticket, bodies[i]
    local progress = known[id] and match(known[id], '^%d+ ([^\n]*)\n')
    if progress then
      reports[#reports + 1] = live
      reports[#reports + 1] = progress
    end
  end
end
reply[3] = drops + n - live
if #reports > 0 then reply[6] = reports end

if first == tonumber(m[1]) then
  call('HSET', M, 'f', int(first + n))
else
  local begun = (tonumber(m[3]) or 0) + 1
  call('UNLINK', ({ K0, K1, K2, K3 })[begun % 4 + 1])
  local skipped = m[1] and { 'u', m[1], 'b', int(first) } or {}
  local segment = int(first / SEGMENT)
  call('HSET', M, 'f', int(first + n), 'run', ARGV[5], 'n', begun, 's' .. begun % 4, segment, unpack(skipped))
end
write('HSET', L, leases)
write('ZADD', V, deadlines)
cut(first, leased)
reply[4] = next_due or false
return reply
