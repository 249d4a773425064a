-- Returns the stored pause if it lasts now, else false, and when it ends by time, else nil. tasks-layout.ts documents
-- the format.
--- @include "now"
local function lasting_pause(stored)
  local ends = stored and tonumber((string.match(stored, '^%d*')))
  return stored and (not ends or ends > now) and stored, ends
end
