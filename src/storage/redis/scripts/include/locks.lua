-- Names the keys of a namespace of locks, and removes expired locks before the script decides anything.
--
-- KEYS[1]  HASH  name -> token:until:owner
-- KEYS[2]  ZSET  name by the end of its hold
-- KEYS[3]  HASH  the fence (fence.lua)
--- @include "now"
--- @include "int"
--- @include "chunks"
--- @include "pruning"
local records, ends, meta = KEYS[1], KEYS[2], KEYS[3]
local ended = redis.call('ZRANGE', ends, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, PRUNED_PER_CALL)
write('HDEL', records, ended)
write('ZREM', ends, ended)
if #ended == PRUNED_PER_CALL then return false end
