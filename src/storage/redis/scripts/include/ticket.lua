-- Splits a ticket into its fields, and makes a ticket of them. tasks-layout.ts documents the format.
--- @include "commands"
local TICKET = '^(%d+)|(%d+)|(%d*)|(%d)|(%d*)|(%d*)|(%d+)|(%d+)|(%d):(.*)$'
local function read_ticket(ticket)
  local submitted, bytes, expires, tier, ttl, max, attempt, lost, look, id = match(ticket, TICKET)
  return {
    submitted = submitted, bytes = bytes, expires = expires, tier = tonumber(tier), ttl = ttl, max = max,
    attempt = tonumber(attempt), lost = tonumber(lost), look = look, id = id,
  }
end
local function write_ticket(t)
  local numbers = { t.submitted, t.bytes, t.expires, t.tier, t.ttl, t.max, t.attempt, t.lost, t.look }
  return table.concat(numbers, '|') .. ':' .. t.id
end
