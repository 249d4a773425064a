-- Finds the slot that makes room for a new one in a hash of calls (call-slots.ts): at MAX_CALL_SLOTS processes, the
-- slot that was silent longest is removed.
--- @include "commands"
local MAX_CALL_SLOTS = 1000
local function evicted_from(hash)
  if call('HLEN', hash) < MAX_CALL_SLOTS then return nil end
  local fields, oldest, at = call('HGETALL', hash), math.huge, nil
  for i = 1, #fields, 2 do
    local ms = tonumber(match(fields[i + 1], '^%d+:(%d+)'))
    if ms < oldest then oldest, at = ms, fields[i] end
  end
  return at
end
