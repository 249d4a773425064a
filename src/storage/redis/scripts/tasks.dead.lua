#!lua flags=no-writes
-- Reads dead tasks. Dead records are read a few at a time: each may be 4 KiB and more.
--
-- KEYS[1]  DZ  ZSET of dead tasks
-- KEYS[2]  DT  HASH of their bodies
-- KEYS[3]  DM  HASH of their dead records
-- KEYS[4]  DE  HASH of their facts
-- ARGV[2]  maximum number of tasks
-- ARGV[3]  maximum of bytes, exceeded by a single larger task
-- ARGV[4]  number of the death to begin behind
-- Returns their total, where the next call begins or false, then dead record, body, and facts or nil of each.
--- @keys DZ DT DM DE
--- @include "commands"
--- @include "int"
--- @include "bodies-per-read"
--- @include "ticket"

local n, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = call('ZRANGE', DZ, '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, n + 1, 'WITHSCORES')
local seen, shown, shown_ids, total, full, noted = 0, {}, {}, 0, false, false
while not full and seen < math.min(n, #found / 2) do
  local part = {}
  for i = seen + 1, math.min(seen + BODIES_PER_READ, n, #found / 2) do part[#part + 1] = found[2 * i - 1] end
  local dead_records = fetch(DM, part)
  for i = 1, #part do
    local dead_record = dead_records[i]
    local bytes = dead_record and #dead_record + match(dead_record, '^%d+:%d+:%d+:%d+|(%d+)') or 0
    full = total + bytes > limit and #shown > 0
    if full then break end
    total, seen = total + bytes, seen + 1
    if dead_record then
      shown[#shown + 1], shown_ids[#shown_ids + 1] = dead_record, part[i]
      noted = noted or has_facts(match(dead_record, '^%d+:%d+:%d+:(.*)$'))
    end
  end
end
local facts = noted and fetch(DE, shown_ids) or {}
local bodies, reply = fetch(DT, shown_ids), { call('ZCARD', DZ), full and int(found[2 * seen]) or false }
for i = 1, #shown do
  reply[3 * i] = shown[i]
  reply[3 * i + 1] = bodies[i]
  reply[3 * i + 2] = facts[i] or false
end
return reply
