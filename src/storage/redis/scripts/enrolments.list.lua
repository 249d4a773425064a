#!lua flags=no-writes
-- Reads the enrolment rules of a type.
--
-- KEYS[1..2]  en eb (workers-layout.ts)
-- Returns { names and rules in turn, the version as that of the name ''; bodies in the same order, false for '' }.
--- @keys en eb

local rules, names, bodies = redis.call('HGETALL', en), {}, {}
for i = 1, #rules, 2 do names[#names + 1] = rules[i] end
if #names > 0 then bodies = redis.call('HMGET', eb, unpack(names)) end
return { rules, bodies }
