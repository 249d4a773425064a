-- Checks whether `token` is the one a lease was issued with, and reads max attempts, ticket and worker of a lease.
--- @include "commands"
local function is_held(record, token) return record and sub(record, 1, #token + 1) == token .. ':' end
local function lease_has_facts(record) return find(record, '^%d+:00') ~= nil end
-- The zeros before `max` of a lease: 1 if the task is retained, and 2 if it has facts.
local LEASE_MARKS = { [0] = ':', ':0', ':00', ':000' }
local function read_lease(record)
  local max, length, rest = match(record, '^%d+:(%d+):(%d+):(.*)$')
  return max, sub(rest, length + 1), sub(rest, 1, length)
end
