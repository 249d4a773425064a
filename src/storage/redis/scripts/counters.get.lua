#!lua flags=no-writes
-- Reads counters.
--
-- KEYS[1]    HASH name -> integer
-- ARGV[2..]  names
-- Returns the values, false where there is none.
--- @include "chunks"

local names = {}
for k = 2, #ARGV do names[#names + 1] = ARGV[k] end
return read('HMGET', KEYS[1], names)
