#!lua flags=no-writes
-- Lists groups that have a pending task or a lease, at most 10,000.
--
-- KEYS[1..2]  T M  as in the other scripts of groups
-- KEYS[3..9]  GT GQ GN GR GW GL GA  keys of the groups
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   wake channel and message, and the group policy
-- Returns for each group its name, the number of its pending tasks, that of its leases, and when its rate permits the
-- next start, or nil if it does not wait for that.
--- @keys T M GT GQ GN GR GW GL GA
--- @include "groups"

local MAX_GROUPS = 10000
local names, leases = call('ZRANGE', GR, 0, MAX_GROUPS - 1), call('HGETALL', GL)
local waiting = call('ZRANGE', GW, 0, MAX_GROUPS - 1)
local known, in_flight, reply = {}, {}, {}
for i = 1, #waiting do names[#names + 1] = waiting[i] end
for i = 1, #leases, 2 do
  names[#names + 1] = leases[i]
  in_flight[leases[i]] = tonumber(leases[i + 1])
end
local function start_of(name)
  local used = INTERVAL and tonumber(call('ZSCORE', GA, name) or nil)
  local start = used and used - (BURST - 1) * INTERVAL
  return start and start > now and int(math.ceil(start)) or false
end
for i = 1, #names do
  local name = names[i]
  if not known[name] and #reply < 4 * MAX_GROUPS then
    known[name] = true
    local pending = call('ZLEXCOUNT', GT, '[' .. name .. GROUP_END, '[' .. name .. GROUP_END .. ':')
    local count, at = in_flight[name] or 0, #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = name, pending, count
    reply[at + 4] = pending > 0 and count < MAX_LEASES and start_of(name)
  end
end
return reply
