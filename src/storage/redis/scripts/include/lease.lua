-- Checks whether `token` is the one a lease was issued with, and reads max attempts and ticket of a lease.
--- @include "commands"
local function is_held(record, token) return record and sub(record, 1, #token + 1) == token .. ':' end
local function read_lease(record)
  local max, length, rest = match(record, '^%d+:(%d+):(%d+):(.*)$')
  return max, sub(rest, length + 1)
end
