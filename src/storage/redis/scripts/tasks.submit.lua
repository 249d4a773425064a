#!lua
-- Queues tasks. The whole batch is decided before anything is written: keys first, then ids, then the bound. A later
-- item sees an earlier one. A stored task that is replaced (D118) is removed as soon as that is decided.
--
-- A shape is one character per task: '0' + its tier + 4 if it has a ttl + 8 if it has a key + 16 if its ticket has a
-- time before which it may not run, in place of `expires` + 32 if it has a unique key.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4]     T  HASH of bodies
-- KEYS[5..6]  DT DM  bodies and dead records of dead tasks
-- KEYS[7]     C  HASH of the last submit of each process
-- KEYS[8..9]  I IZ  idempotency windows
-- KEYS[10]    M  HASH with the running totals
-- KEYS[11..12]  D S  scheduled tickets, scheduled ids
-- KEYS[13]    X  HASH of the ids with stale tickets
-- KEYS[14]    OZ  ZSET of outcomes by expiry
-- KEYS[15..16]  V L  deadlines, leases
-- KEYS[17..18]  U E  HASHes of the tasks that unique keys name, and of facts
-- KEYS[19]      WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua), or '' if there is no other master
-- ARGV[3]     wake message
-- ARGV[4]     idempotency windows in ms, separated by commas: one for all keys, or one for each key
-- ARGV[5]     bound on the number of tasks, or ''
-- ARGV[6]     shapes
-- ARGV[7]     slot of the call
-- ARGV[8]     number of the call
-- ARGV[9..]   id, ticket and body of each task, then the keys of those that have one, then for each unique key two
--             letters (s or f: until its task has started or finished; k or r: keep or replace) and its JSON text
-- Returns nil if all were queued and none was replaced, else for each 0 queued, { id } queued and replaced that task,
-- 1 its id is known, 2 the queue is full, or the first id of its key or the id that its unique key names.
--- @keys P0 P1 P2 T DT DM C I IZ M D S X OZ V L U E WM
--- @include "commands"
--- @include "now"
--- @include "int"
--- @include "queue"
--- @include "call-slots"
--- @include "stale"

-- Defined only where a task has a unique key, because each definition takes time.
local has_unique, holders_of, cancel_holder = find(ARGV[6], '[P-o]'), nil, nil
if has_unique then
--- @include "unique"
--- @include "cancel-tasks"
  holders_of = find_holders
  local facts
  function cancel_holder(holder, batch)
    if not stale_counts then
      local st
      st, facts = unpack(call('HMGET', M, 'st', 'fs'))
      open_stale(st)
      learn_stale(batch)
    end
    learn_stale({ holder.id })
    cancel_tasks({ holder }, facts)
  end
end

local slot, number = ARGV[7], tonumber(ARGV[8])
local last, has_stale = unpack(call('HMGET', C, slot, ''))
if last then
  local of, results = match(last, '^(%d+):%d+:(.*)$')
  if tonumber(of) == number then return results ~= '' and cjson.decode(results) end
  if tonumber(of) > number then return redis.error_reply('OVERTAKEN a later call of this slot was carried out') end
end
local evicted = not last and evicted_from(C)

local shapes = ARGV[6]
local n, keys, ids = #shapes, {}, {}
for i = 1, n do ids[i] = ARGV[6 + 3 * i] end
local key_end = #ARGV
if has_unique then key_end = #ARGV - 2 * select(2, string.gsub(shapes, '[P-o]', '')) end
for i = 9 + 3 * n, key_end do keys[#keys + 1] = ARGV[i] end

local known, windows, others = fetch(T, ids), fetch(I, keys), call('EXISTS', DT, OZ)
local dead_count = others > 0 and call('HLEN', DT) or 0
local dead_records = dead_count > 0 and fetch(DM, ids) or {}
if has_stale then learn_stale(ids) end
local has_outcomes = others > (dead_count > 0 and 1 or 0)
local outcomes = has_outcomes and call('ZMSCORE', OZ, unpack(ids)) or {}
local room = ARGV[5] ~= '' and ARGV[5] - dead_count - call('HLEN', T) or math.huge

local results, refused, at_key = {}, false, 0
local bodies, tiers, taken, taken_keys, starts, ends = {}, { {}, {}, {} }, {}, {}, {}, {}
local window_ends = {}
for window in string.gmatch(ARGV[4], '%d+') do window_ends[#window_ends + 1] = int(now + window) end
local due, delayed, earliest = {}, {}, nil
local queued, generation, generations = 0, nil, {}
local function with_generation(ticket, id)
  local stale = stale_known[id]
  if not stale or (stale.places == '' and stale.moved == '') then return ticket end
  generation = generation or call('HINCRBY', M, 'sg', 1)
  generations[#generations + 1] = id
  generations[#generations + 1] = generation
  return generation .. string.rep('0', 16 - #match(ticket, '^%d+')) .. ticket
end

local find_unique, replace, record_unique, names
local dropped = 0
if has_unique then
  local uniques, unique_keys, at = {}, {}, key_end
  for i = 1, n do
    if byte(shapes, i) - 48 >= 32 then
      local how = ARGV[at + 1]
      uniques[i] = { key = ARGV[at + 2], finished = sub(how, 1, 1) == 'f', replaces = sub(how, 2) == 'r' }
      unique_keys[#unique_keys + 1] = ARGV[at + 2]
      at = at + 2
    end
  end
  names = {}
  local holders = holders_of(unique_keys)
  -- Returns the unique key of a task, and the task with which it conflicts.
  function find_unique(i)
    local holder = holders[uniques[i].key]
    return uniques[i], holder and (holder.place ~= 2 or holder.finished) and holder or nil
  end
  function record_unique(unique, id, ticket, is_delayed)
    holders[unique.key] =
      { id = id, place = is_delayed and 3 or 1, finished = unique.finished, ticket = ticket }
    names[#names + 1] = unique.key
    names[#names + 1] = (unique.finished and 'f' or 's') .. id
  end
  local function remove(list, value, width, offset)
    for i = 1, #list, width do
      if list[i + offset] == value then
        for _ = 1, width do table.remove(list, i) end
        return
      end
    end
  end
  -- Takes a task back that was queued earlier in this call.
  local function drop(holder)
    remove(bodies, holder.id, 2, 0)
    remove(due, holder.ticket, 2, 1)
    remove(delayed, holder.id, 1, 0)
    remove(generations, holder.id, 2, 0)
    for t = 1, 3 do remove(tiers[t], holder.ticket, 1, 0) end
    taken[holder.id] = nil
    queued, dropped = queued - 1, dropped + 1
  end
  local function cancel(holder)
    cancel_holder(holder, ids)
    has_stale, room = true, room + 1
    for i = 1, n do
      if ids[i] == holder.id then known[i] = false end
    end
  end
  function replace(holder)
    refused = true -- The result names the task.
    if holder.ticket then drop(holder) else cancel(holder) end
  end
end

for i = 1, n do
  local shape, id, result = byte(shapes, i) - 48, ids[i], 0
  local key, unique, holder, replaced
  if shape % 16 >= 8 then
    at_key = at_key + 1
    key = keys[at_key]
    local first = taken_keys[key]
    if not first and windows[at_key] then
      local over, of = match(windows[at_key], '^(%d+):(.*)$')
      if tonumber(over) > now then first = of end
    end
    result = first or 0
  end
  if result == 0 then
    local is_kept = outcomes[i] and tonumber(outcomes[i]) > now
    if has_unique and shape >= 32 then unique, holder = find_unique(i) end
    if known[i] or dead_records[i] or taken[id] or is_kept then
      result = 1
    elseif holder and (holder.place == 2 or not unique.replaces) then
      result = holder.id
    elseif holder then
      replace(holder)
      replaced = holder.id
    elseif queued >= room then
      result = 2
    end
  end
  if result == 0 then
    local ticket, from = ARGV[7 + 3 * i], now
    if shape % 32 >= 16 then
      local head, not_before, tail = match(ticket, '^(%d+|%d+|)(%d+)(.*)$')
      ticket, from = head .. tail, math.max(now, tonumber(not_before))
    end
    if shape % 8 >= 4 then
      local head, tail, ttl = match(ticket, '^(%d+|%d+|)(|%d|(%d+).*)$')
      ticket = head .. int(from + ttl) .. tail
    end
    if has_stale then ticket = with_generation(ticket, id) end
    queued = queued + 1
    taken[id] = true
    if unique then record_unique(unique, id, ticket, from > now) end
    bodies[2 * queued - 1] = id
    bodies[2 * queued] = ARGV[8 + 3 * i]
    if from > now then
      due[#due + 1], due[#due + 2] = int(from), ticket
      delayed[#delayed + 1] = id
      if not earliest or from < earliest then earliest = from end
    else
      local tier = tiers[shape % 4 + 1]
      tier[#tier + 1] = ticket
    end
  else
    refused = true
  end
  if key and (result == 0 or result == 1 or holder) then -- Also of a duplicate (D80).
    local window_end = window_ends[at_key] or window_ends[1]
    local first = type(result) == 'string' and result or id
    taken_keys[key] = first
    starts[#starts + 1] = key
    starts[#starts + 1] = window_end .. ':' .. first
    ends[#ends + 1] = window_end
    ends[#ends + 1] = key
  end
  results[i] = replaced and { replaced } or result
end

if queued > 0 then
  if #generations > 0 then
    local fields = {}
    for i = 1, #generations, 2 do
      local id, stale = generations[i], stale_known[generations[i]]
      if stale.places ~= '' or stale.moved ~= '' then
        fields[#fields + 1], fields[#fields + 2] = id, stale.places .. ':' .. generations[i + 1] .. ':'
      end
    end
    write('HSET', X, fields)
  end
  push_back(tiers)
  if earliest then
    local first = call('ZRANGE', D, 0, 0, 'WITHSCORES')[2]
    if not first or earliest < tonumber(first) then woken = true end -- The masters wait for the wrong time.
    write('ZADD', D, due)
    write('SADD', S, delayed)
  end
  write('HSET', T, bodies)
  --- @group for i = 1, #bodies, 2 do known_bodies[bodies[i]] = bodies[i + 1] end
  if names and write('HSET', U, names) then call('HSETNX', M, 'uc', '0') end
  call('HINCRBY', M, 'submitted', queued + dropped)
  if dropped > 0 then call('HINCRBY', M, 'cancelled', dropped) end
  wake()
end
write('HSET', I, starts)
write('ZADD', IZ, ends)
if evicted then call('HDEL', C, evicted) end
call('HSET', C, slot, ARGV[8] .. ':' .. int(now) .. ':' .. (refused and cjson.encode(results) or ''))
return refused and results
