-- Names the keys of a pool, and removes expired items before the script decides anything.
--
-- KEYS[1]  HASH  id -> record, opaque here (pools.ts)
-- KEYS[2]  HASH  id -> lines that a claim reads: the size of a large item, and each tag that can be matched; items
--                without a line are not in it
-- KEYS[3]  ZSET  id by the number of its first put: the members of the pool, in the order of `list`
-- KEYS[4]  ZSET  free id by last use: below zero, by put, if never used, else the token of its last claim
-- KEYS[5]  ZSET  claimed id by the end of its hold
-- KEYS[6]  HASH  claimed id -> token and who claims it (pools.ts)
-- KEYS[7]  ZSET  id by expiry, only of items that expire
-- KEYS[8]  HASH  number of `puts` so far, and the fence (fence.lua)
--
-- An id is in records and puts, and in either free or both claimed and owners.
--- @include "now"
--- @include "int"
--- @include "chunks"
--- @include "pruning"
-- Items that are read in one step.
local PAGE = 100
local records, tags, puts, free, claimed, owners, expiry, meta = unpack(KEYS)
local function drop(ids)
  for _, hash in ipairs({ records, tags, owners }) do write('HDEL', hash, ids) end
  for _, set in ipairs({ puts, free, claimed, expiry }) do write('ZREM', set, ids) end
end
local expired = redis.call('ZRANGE', expiry, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, PRUNED_PER_CALL)
drop(expired)
if #expired == PRUNED_PER_CALL then return false end
