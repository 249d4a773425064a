#!lua flags=allow-oom
-- Removes all dead tasks. No body passes through Lua: Redis frees the keys in the background, however large they are.
--
-- KEYS[1..3]  DZ DT DM  keys of dead tasks
-- Returns how many there were.
--- @keys DZ DT DM
--- @include "commands"

local n = call('HLEN', DT)
call('UNLINK', DZ, DT, DM)
return n
