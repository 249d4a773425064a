-- Forgets unique keys whose task has ended, about 100 keys per call. `uc` of M is where the next call continues; it is
-- missing while there are no keys. It needs the keys T, DT, M and U.
--- @include "commands"
--- @include "now"
--- @include "unique"
local UNIQUE_STEP = 100
-- Bytes of bodies that one call reads.
local MAX_UNIQUE_BYTES = 1048576
-- `uc`: that of M. Returns whether many keys were forgotten, so that more are probably left.
local function forget_unique(uc)
  local reply, gone, bytes = call('HSCAN', U, uc, 'COUNT', UNIQUE_STEP), {}, 0
  local entries, n = reply[2], #reply[2] / 2
  for i = 1, n do
    local at = 2 * ((i + now) % n) -- Another one is the first each time, because few large bodies are read.
    local key, id, bodies = entries[at + 1], sub(entries[at + 2], 2), T
    local size = call('HSTRLEN', T, id)
    if size == 0 then bodies, size = DT, call('HSTRLEN', DT, id) end
    if size == 0 then
      gone[#gone + 1] = key
    elseif bytes == 0 or bytes + size <= MAX_UNIQUE_BYTES then
      bytes = bytes + size
      if not has_key(call('HGET', bodies, id), key) then gone[#gone + 1] = key end
    end
  end
  write('HDEL', U, gone)
  if call('EXISTS', U) == 1 then call('HSET', M, 'uc', reply[1]) else call('HDEL', M, 'uc') end
  return #gone > 0 and 4 * #gone >= n
end
