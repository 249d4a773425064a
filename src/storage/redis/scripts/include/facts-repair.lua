-- Removes facts whose task has ended. A master of a release that does not know facts leaves them behind. Once a minute
-- the sweeps begin to look at all facts, a part in each. It needs the keys T, DT, E, DE and M.
--- @include "commands"
--- @include "int"
--- @include "now"
-- Facts of each hash that one sweep looks at, about.
local FACTS_PER_SWEEP = 100
-- From the end of one look at all facts to the next.
local REPAIR_EVERY_MS = 60000
local function forget_absent(facts, bodies, cursor)
  local reply, gone = call('HSCAN', facts, cursor, 'COUNT', FACTS_PER_SWEEP), {}
  for i = 1, #reply[2], 2 do
    if call('HEXISTS', bodies, reply[2][i]) == 0 then gone[#gone + 1] = reply[2][i] end
  end
  write('HDEL', facts, gone)
  return reply[1]
end
-- `fs`: that of M.
local function repair_facts(fs)
  local live, dead, from = match(fs or '', '^(%d+)|(%d+)|(%d+)$')
  if not from or tonumber(from) > now then return end
  live, dead = forget_absent(E, T, live), forget_absent(DE, DT, dead)
  if call('EXISTS', E, DE) == 0 then
    call('HDEL', M, 'fs')
  else
    if live == '0' and dead == '0' then from = int(now + REPAIR_EVERY_MS) end
    call('HSET', M, 'fs', live .. '|' .. dead .. '|' .. from)
  end
end
