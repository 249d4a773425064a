-- Forgets the stale tickets of places that are empty. A master of a release that does not know cancels drops such
-- tickets and counts none of them, so until its place is empty a count may be too low. `sc` of M is where the next call
-- continues. Also cuts stale tickets off the ends of the tiers. It needs the keys P0, P1, P2, D, X, M and C.
--- @include "stale-trim"
local MAX_REPAIR_STEPS = 10
-- `st`: that of M.
local function repair_stale(st)
  if not st then return end
  open_stale(st)
  for i, key in ipairs({ P0, P1, P2 }) do trim_tier(key, i - 1) end
  local empty = {}
  for i, key in ipairs({ P0, P1, P2, D }) do
    if stale_counts[i] > 0 and call('EXISTS', key) == 0 then empty[#empty + 1] = i - 1 end
  end
  local cursor = #empty > 0 and call('HGET', M, 'sc') or '0'
  for _ = 1, #empty > 0 and MAX_REPAIR_STEPS or 0 do
    local reply = call('HSCAN', X, cursor, 'COUNT', STALE_STEP)
    for i = 1, #reply[2], 2 do
      local id = reply[2][i]
      stale_known[id] = stale_known[id] or read_stale(reply[2][i + 1])
      for _, place in ipairs(empty) do
        while find(stale_known[id].places, place, 1, true) do drop_stale(id, place) end
      end
    end
    cursor = reply[1]
    if cursor == '0' then break end
  end
  if #empty > 0 then write('HSET', M, { 'sc', cursor }) end
  save_stale()
end
