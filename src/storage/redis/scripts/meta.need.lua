#!lua flags=allow-oom
-- Records what the data of the store needs beside its layout (D121).
--
-- KEYS[1]  HASH of the store
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  the need
-- ARGV[3]  what is added to the layout, so that releases before `needs` refuse the store
-- Returns nothing.
--- @include "int"

local known = redis.call('HMGET', KEYS[1], 'schema', 'needs')
local needs = known[2] or ''
if string.find(' ' .. needs .. ' ', ' ' .. ARGV[2] .. ' ', 1, true) then return end
local mark, layout = tonumber(ARGV[3]), tonumber(known[1] or 0)
if needs ~= '' then needs = needs .. ' ' end
redis.call('HSET', KEYS[1], 'schema', int(layout % mark + mark), 'needs', needs .. ARGV[2])
