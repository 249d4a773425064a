-- Reads pending tickets of a tier behind its first `skip`.
--- @include "commands"
local function page_of(tier, skip, n) return call('LRANGE', tier, skip, skip + n - 1) end
