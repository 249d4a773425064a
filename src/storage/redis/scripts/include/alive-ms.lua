-- A master is live for so long after its last heartbeat: three of them.
local ALIVE_MS = 15000
