#!lua flags=no-writes
-- Lists the revisions of a type, newest first.
--
-- KEYS[1..3]  ru ro rt (workers-layout.ts)
-- Returns { names, use of each, tally of each or false }.
--- @keys ru ro rt

local names = redis.call('ZRANGE', ro, '0', '-1', 'REV')
if #names == 0 then return { {}, {}, {} } end
return { names, redis.call('HMGET', ru, unpack(names)), redis.call('HMGET', rt, unpack(names)) }
