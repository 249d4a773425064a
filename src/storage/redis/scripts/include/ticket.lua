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
-- Whether the digit `look`, or that of a ticket, says that the task has facts; the digit that does.
local function look_has_facts(look) return look % 4 >= 2 end
local function has_facts(ticket) return look_has_facts(byte(ticket, find(ticket, ':', 1, true) - 1)) end
local function with_facts(look) return look_has_facts(look) and look or look + 2 end
local function write_ticket(t)
  local numbers = { t.submitted, t.bytes, t.expires, t.tier, t.ttl, t.max, t.attempt, t.lost, t.look }
  return table.concat(numbers, '|') .. ':' .. t.id
end
