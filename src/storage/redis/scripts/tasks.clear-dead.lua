#!lua flags=allow-oom
-- Removes all dead tasks. No body passes through Lua: Redis frees the keys in the background, however large they are.
--
-- KEYS[1..4]  DZ DT DM DE  keys of dead tasks
-- Returns how many there were.
--- @keys DZ DT DM DE
--- @include "commands"

local n = call('HLEN', DT)
call('UNLINK', DZ, DT, DM, DE)
return n
