-- Replaces the zeros of `results` by the codes of lost-lease.lua. It needs the key M.
--- @include "lost-lease"
local function set_lost_codes(results, token_of)
  local m
  for i = 1, #results do
    if results[i] == 0 then
      m = m or call('HMGET', M, 'f', 'u', 'b')
      results[i] = lost_code(tonumber(token_of(i)), m[1], m[2], m[3])
    end
  end
end
