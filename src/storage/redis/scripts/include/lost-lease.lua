-- Defines the code of a lease that is not current: 0; -1 if its token was not issued by this store, which proves that
-- the store went back in time (G26): it is above the counter `f`, or was skipped when the counter last rose, after `u`
-- up to `b`.
--- @include "commands"
local function lost_code(token, f, u, b)
  local is_above = f and token > tonumber(f)
  return (is_above or (u and token > tonumber(u) and token <= tonumber(b))) and -1 or 0
end
