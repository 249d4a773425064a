#!lua flags=allow-oom
-- Removes all dead tasks. No body passes through Lua: Redis frees the keys in the background, however large they are.
--
-- KEYS[1..4]  DZ DT DM DE  keys of dead tasks
-- KEYS[5..7]  DQ DI DG  their groups
-- KEYS[8]     M  HASH with the number of deaths
-- Returns how many there were.
--- @keys DZ DT DM DE DQ DI DG M
--- @include "commands"

local n, died = call('HLEN', DT), call('HGET', M, 'died')
call('UNLINK', DZ, DT, DM, DE, DQ, DI, DG)
if died then call('HSET', M, 'dl', died) end
return n
