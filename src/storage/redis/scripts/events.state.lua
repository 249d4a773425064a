#!lua flags=no-writes
-- Reads the position of the newest event.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  HASH of the log
-- Returns { run or '', number of the newest entry }.

local state = redis.call('HMGET', KEYS[2], 'run', 'last')
return { state[1] or '', tonumber(state[2] or 0) }
