#!lua flags=allow-oom
-- Stops counting replays.
--
-- KEYS[1]  M  HASH with the counts
-- ARGV[1]  time of a test, or ''
-- ARGV[2..]  ids of replays
-- Returns nothing.
--- @keys M
--- @include "commands"

local fields = {}
for i = 2, #ARGV do
  fields[#fields + 1] = 'yd:' .. ARGV[i]
  fields[#fields + 1] = 'yx:' .. ARGV[i]
end
write('HDEL', M, fields)
