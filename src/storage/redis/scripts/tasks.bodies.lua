#!lua flags=no-writes
-- Reads bodies, as many as fit, but one at least.
--
-- KEYS[1]    T  HASH of bodies
-- ARGV[2]    maximum of bytes
-- ARGV[3..]  ids
-- Returns the bodies of the first ids, false where there is none.
--- @keys T
--- @include "commands"

local limit, total, ids = tonumber(ARGV[2]), 0, {}
for i = 3, #ARGV do
  total = total + call('HSTRLEN', T, ARGV[i])
  if total > limit and #ids > 0 then break end
  ids[#ids + 1] = ARGV[i]
end
return fetch(T, ids)
