#!lua flags=no-writes
-- Reads dead tasks, oldest death first.
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
--- @include "dead-page"

local found = call('ZRANGE', DZ, '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local ids = {}
for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
local seen, rows = dead_page(ids, tonumber(ARGV[3]))
local reply = { call('ZCARD', DZ), seen < #ids and int(found[2 * seen]) or false }
for i = 1, #rows do reply[i + 2] = rows[i] end
return reply
