#!lua flags=allow-oom
-- Acknowledges tasks. Tokens that were acknowledged stay known with their tasks, for as long as their segment has a
-- bitmap (D24, D80). Bits of tokens that follow one another, as those of one reserve do, are set up to 32 at a time.
-- The fingerprints of a slot begin again here when the slot has got another segment: an older version recycles only the
-- bitmap.
--
-- KEYS[1]      T  HASH of bodies
-- KEYS[2..3]   V L  deadlines, leases
-- KEYS[4]      M  HASH with the token counter
-- KEYS[5..8]   K0 K1 K2 K3  bitmaps of acknowledged tokens
-- KEYS[9..12]  H0 H1 H2 H3  fingerprints of their tasks
-- KEYS[13..14]  O OZ  outcomes
-- KEYS[15]     E  HASH of facts
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      maximum number of outcomes
-- ARGV[3]      channel of finished tasks
-- ARGV[4]      beginning of its messages
-- ARGV[5]      number of leases
-- ARGV[6..]    id, token and fingerprint of each, then the position of each lease that has a result, and the result
-- Returns nil if all are acknowledged, else for each 1, or a code of include/lost-lease.lua.
--- @keys T V L M K0 K1 K2 K3 H0 H1 H2 H3 O OZ E
--- @include "commands"
--- @include "lease"
--- @include "lost-lease"
--- @include "segment"
--- @include "outcomes"
--- @include "replays"
--- @group @include "groups"

local ids, n = {}, tonumber(ARGV[5])
for i = 1, n do ids[i] = ARGV[3 * i + 3] end
local records, m = fetch(L, ids), call('HMGET', M, 's0', 's1', 's2', 's3', 't0', 't1', 't2', 't3', 'f', 'u', 'b')
local bitmaps, prints, slot_of = { K0, K1, K2, K3 }, { H0, H1, H2, H3 }, {}
for slot = 1, 4 do if m[slot] then slot_of[tonumber(m[slot])] = slot end end
local function is_acked(slot, number, print)
  if not slot or call('GETBIT', bitmaps[slot], number % SEGMENT) == 0 then return false end
  local known = m[slot + 4] == m[slot] and call('BITFIELD', prints[slot], 'GET', 'u32', '#' .. number % SEGMENT)[1] or 0
  return known == 0 or known == print
end

local results, lost, gone, acked, retained, noted = {}, false, {}, {}, {}, {}
local sets, tasks, run_slot, run_from, run_length = { {}, {}, {}, {} }, { {}, {}, {}, {} }, nil, 0, 0
local function end_run()
  if run_length == 0 or not run_slot then return end
  local set = sets[run_slot]
  local at = #set
  set[at + 1], set[at + 2], set[at + 3], set[at + 4] = 'SET', 'u' .. run_length, run_from % SEGMENT, 2 ^ run_length - 1
end
for i = 1, n do
  local id, token, print = ids[i], ARGV[3 * i + 4], tonumber(ARGV[3 * i + 5])
  local number = tonumber(token)
  local slot = slot_of[floor(number / SEGMENT)]
  if not acked[token] and is_held(records[i], token) then
    results[i], acked[token] = 1, id
    gone[#gone + 1] = id
    if byte(records[i], #token + 2) == 48 then
      local marks = #match(records[i], '^0+', #token + 2)
      if marks % 2 == 1 then retained[#retained + 1] = i end
      if marks >= 2 then noted[#noted + 1] = ids[i] end
    end
    if slot then
      local task = tasks[slot]
      local at = #task
      task[at + 1], task[at + 2], task[at + 3], task[at + 4] = 'SET', 'u32', '#' .. number % SEGMENT, ARGV[3 * i + 5]
    end
    if slot == run_slot and number == run_from + run_length and run_length < 32 then
      run_length = run_length + 1
    else
      end_run()
      run_slot, run_from, run_length = slot, number, 1
    end
  elseif acked[token] == id or (not acked[token] and is_acked(slot, number, print)) then
    results[i] = 1
  else
    results[i], lost = lost_code(number, m[9], m[10], m[11]), true
  end
end
local function keep_retained()
  local given, ended, finished = {}, {}, {}
  for i = 6 + 3 * n, #ARGV, 2 do given[tonumber(ARGV[i])] = ARGV[i + 1] end
  for k, i in ipairs(retained) do
    local length, rest = match(records[i], '^%d+:%d+:(%d+):(.*)$')
    local attempt = match(rest, '^%d+|%d+|%d*|%d|%d*|%d*|(%d+)', length + 1)
    local worker, result = sub(rest, 1, length), given[i] or ''
    finished[k] = ids[i]
    local is_noted = #match(records[i], '^0+', #ARGV[3 * i + 4] + 2) == 3
    ended[k] = {
      id = ids[i], kind = 'd', attempt = attempt, worker = worker, result = result, has_facts = is_noted,
    }
  end
  keep_outcomes(ended, now_ms(), tonumber(ARGV[2]))
  call('PUBLISH', ARGV[3], ARGV[4] .. cjson.encode(finished))
end
-- Only a task with facts can be part of a replay.
local function count_done()
  local counts = {}
  for _, facts in ipairs(fetch(E, noted)) do
    local replay = replay_of(facts)
    if replay then counts[replay] = (counts[replay] or 0) + 1 end
  end
  count_replays('yd:', counts)
end
if #gone > 0 then
  end_run()
  count_done()
  if #retained > 0 then keep_retained() end
  for slot = 1, 4 do
    if #tasks[slot] > 0 and m[slot + 4] ~= m[slot] then
      call('UNLINK', prints[slot])
      call('HSET', M, 't' .. slot - 1, m[slot])
    end
    write('BITFIELD', prints[slot], tasks[slot])
    write('BITFIELD', bitmaps[slot], sets[slot])
  end
  --- @group end_leases(gone)
  write('HDEL', T, gone)
  write('HDEL', E, noted)
  write('HDEL', L, gone)
  write('ZREM', V, gone)
  call('HINCRBY', M, 'acked', #gone)
end
return lost and results
