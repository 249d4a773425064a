#!lua flags=no-writes
-- Reads the rollout reports of a type.
--
-- KEYS[1..2]  rh rb (workers-layout.ts)
-- Returns { names and heads in turn, bodies in the same order }.
--- @keys rh rb

local heads, names, bodies = redis.call('HGETALL', rh), {}, {}
for i = 1, #heads, 2 do names[#names + 1] = heads[i] end
if #names > 0 then bodies = redis.call('HMGET', rb, unpack(names)) end
return { heads, bodies }
