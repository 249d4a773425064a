-- Splits a record of `st` into state, since and the rest.
local function state_of(text) return string.match(text, '^(%u+):(%d+):(.*)$') end
