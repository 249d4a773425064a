#!lua flags=allow-oom
-- Sorts the tasks that arrived before the type had a group policy, or that a master without one queued, and counts the
-- leases of the groups anew: such a master does not count them. Judges by this policy which groups
-- wait for their rate, of at most 10,000 that were ready.
--
-- KEYS[1..3]  P0 P1 P2  LISTs of pending tickets
-- KEYS[4..5]  T L  HASHes of bodies and leases
-- KEYS[6]     M  HASH with the number of stale tickets
-- KEYS[7]     X  HASH of the ids with stale tickets
-- KEYS[8]     C  HASH of the last submit of each process
-- KEYS[9]     D  scheduled tickets
-- KEYS[10..16]  GT GQ GN GR GW GL GA  keys of the groups
-- KEYS[17]    WM  ZSET of the masters that wait for tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     wake channel, or its beginning (wake.lua)
-- ARGV[3]     wake message
-- ARGV[4..]   channel and message that wake every master, and the group policy
-- Returns 1 if more tasks are to be sorted, else 0.
--- @keys P0 P1 P2 T L M X C D GT GQ GN GR GW GL GA WM
--- @include "grouped-queue"

-- Ids that are read together.
local STEP = 1000
local MAX_JUDGED = 10000

local more = sort_arrivals()

-- Forgets the names of tasks that are neither pending nor in flight.
if call('HLEN', GN) > call('ZCARD', GQ) + call('HLEN', L) then
  local cursor = '0'
  repeat
    local reply = call('HSCAN', GN, cursor, 'COUNT', STEP)
    local ids, gone = {}, {}
    for i = 1, #reply[2], 2 do ids[#ids + 1] = reply[2][i] end
    for i, record in ipairs(fetch(L, ids)) do
      local rank = sub(reply[2][2 * i], 1, 16)
      if not record and #call('ZRANGE', GQ, rank, rank, 'BYSCORE') == 0 then gone[#gone + 1] = ids[i] end
    end
    write('HDEL', GN, gone)
    cursor = reply[1]
  until cursor == '0'
end

local ids, leases = call('HKEYS', L), {}
local entries, unnamed = fetch(GN, ids), {}
for i = 1, #ids do
  if entries[i] then known_groups[ids[i]] = sub(entries[i], 17) else unnamed[#unnamed + 1] = ids[i] end
end
learn_groups(unnamed)
local names = {}
for _, id in ipairs(unnamed) do
  names[#names + 1] = id
  names[#names + 1] = string.rep('0', 16) .. known_groups[id]
end
write('HSET', GN, names)
local groups, counts = distinct(ids)
local before = call('HKEYS', GL)
call('DEL', GL)
local full = {}
for _, group in ipairs(groups) do
  leases[#leases + 1] = group
  leases[#leases + 1] = counts[group]
  if counts[group] >= MAX_LEASES then full[#full + 1] = group end
end
write('HSET', GL, leases)
write('ZREM', GR, full)
local ready = call('ZRANGE', GW, 0, -1)
call('DEL', GW)
for _, group in ipairs(before) do
  if has_pending(group) then ready[#ready + 1] = group end
end
make_ready(ready)
if INTERVAL then
  for _, group in ipairs(call('ZRANGE', GR, 0, MAX_JUDGED - 1)) do
    local start = tonumber(call('ZSCORE', GA, group) or 0) - (BURST - 1) * INTERVAL
    if start > now then
      call('ZREM', GR, group)
      call('ZADD', GW, start, group)
    end
  end
end
call('ZREMRANGEBYSCORE', GA, '-inf', now)
return more and 1 or 0
