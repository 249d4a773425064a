#!lua
-- Replaces the head and some parts of an operation.
--
-- KEYS[1..2]  oh ob (workers-layout.ts)
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     id
-- ARGV[3]     version that the change is based on
-- ARGV[4]     head
-- ARGV[5..]   number and text of each part in turn
-- Returns 'updated', 'conflict' or 'not_found'.
--- @keys oh ob

local id = ARGV[2]
local stored = redis.call('HGET', oh, id)
if not stored then return 'not_found' end
local version, parts = string.match(stored, '^(%d+):(%d+):')
if version ~= ARGV[3] then return 'conflict' end
redis.call('HSET', oh, id, string.format('%d:%s:', tonumber(version) + 1, parts) .. ARGV[4])
for i = 5, #ARGV, 2 do
  if tonumber(ARGV[i]) < tonumber(parts) then redis.call('HSET', ob, id .. '/' .. ARGV[i], ARGV[i + 1]) end
end
return 'updated'
