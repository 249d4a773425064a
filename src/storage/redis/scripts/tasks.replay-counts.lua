#!lua flags=no-writes
-- Reads the counts of replays.
--
-- KEYS[1]  M  HASH with the counts
-- ARGV[1]  time of a test, or ''
-- ARGV[2..]  ids of replays
-- Returns for each the number of tasks that are done, and that died; nil and nil if it is not counted.
--- @keys M
--- @include "commands"

local fields = {}
for i = 2, #ARGV do
  fields[#fields + 1] = 'yd:' .. ARGV[i]
  fields[#fields + 1] = 'yx:' .. ARGV[i]
end
return fetch(M, fields)
