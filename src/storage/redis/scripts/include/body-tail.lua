-- Longer than all of a body that follows its payload.
local TAIL = 200
