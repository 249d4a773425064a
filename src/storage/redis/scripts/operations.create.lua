#!lua
-- Stores a new operation.
--
-- KEYS[1..2]  oh ob (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     id
-- ARGV[3]     head
-- ARGV[4..]   parts
-- Returns 'created', 'exists' or 'full'.
--- @define MAX_OPERATIONS
--- @keys oh ob

local id = ARGV[2]
if redis.call('HEXISTS', oh, id) == 1 then return 'exists' end
if redis.call('HLEN', oh) >= MAX_OPERATIONS then return 'full' end
redis.call('HSET', oh, id, '1:' .. (#ARGV - 3) .. ':' .. ARGV[3])
for i = 4, #ARGV do redis.call('HSET', ob, id .. '/' .. (i - 4), ARGV[i]) end
return 'created'
