-- Names the keys of a namespace of values, and removes expired values before the script decides anything.
--
-- KEYS[1]  HASH  key -> text
-- KEYS[2]  ZSET  key by expiry, only of those that expire
--- @include "now"
--- @include "int"
--- @include "chunks"
--- @include "pruning"
local values, expiry = KEYS[1], KEYS[2]
local ended = redis.call('ZRANGE', expiry, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, PRUNED_PER_CALL)
write('HDEL', values, ended)
write('ZREM', expiry, ended)
if #ended == PRUNED_PER_CALL then return false end
