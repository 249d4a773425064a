#!lua flags=no-writes
-- Lists the revisions of a type, newest first.
--
-- KEYS[1..2]  ru ro (workers-layout.ts)
-- Returns { names, use of each }.
--- @keys ru ro

local names = redis.call('ZRANGE', ro, '0', '-1', 'REV')
if #names == 0 then return { {}, {} } end
return { names, redis.call('HMGET', ru, unpack(names)) }
