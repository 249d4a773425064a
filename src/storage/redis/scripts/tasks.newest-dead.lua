#!lua flags=no-writes
-- Reads dead tasks, newest death first.
--
-- KEYS[1]  DZ  ZSET of dead tasks
-- KEYS[2]  DT  HASH of their bodies
-- KEYS[3]  DM  HASH of their dead records
-- KEYS[4..5]  DE DI  their facts and groups
-- ARGV[2]  group, or '' for all tasks
-- ARGV[3]  maximum number of tasks
-- ARGV[4]  maximum of bytes, exceeded by a single larger task
-- ARGV[5..6]  time and number of the death before which the page begins, or '' and ''
-- Returns time and number of the last death of the page, or false and false if no other page follows, then dead record,
-- body, and facts or nil of each.
--- @keys DZ DT DM DE DI
--- @include "commands"
--- @include "int"
--- @include "dead-page"
--- @include "dead-group-members"

local group, n, ids, positions = ARGV[2], tonumber(ARGV[3]), {}, {}
if group == '' then
  local before = ARGV[6] == '' and '+inf' or '(' .. ARGV[6]
  local found = call('ZRANGE', DZ, before, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, n + 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
    positions[#positions + 1] = { 0, tonumber(found[i + 1]) }
  end
else
  local before = behind(group)
  if ARGV[5] ~= '' then before = '(' .. group .. string.format('%014.0f%016.0f', ARGV[5], ARGV[6]) end
  local found = call('ZRANGE', DI, before, first_since(group, 0), 'BYLEX', 'REV', 'LIMIT', 0, n + 1)
  for i = 1, #found do
    ids[i] = id_of(found[i])
    positions[i] = { died_of(found[i]), number_of(found[i]) }
  end
end
local has_more = #ids > n
if has_more then ids[n + 1] = nil end
local seen, rows = dead_page(ids, tonumber(ARGV[4]))
local last = (has_more or seen < #ids) and positions[seen]
local reply = { last and int(last[1]), last and int(last[2]) }
for i = 1, #rows do reply[i + 2] = rows[i] end
return reply
