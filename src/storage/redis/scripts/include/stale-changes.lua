-- Counts stale tickets and moved tasks as they come and go; stale.lua documents the format. It needs the keys X, M
-- and C.
--- @include "stale"
local stale_counts, stale_changed = nil, {}
local function open_stale(st)
  local high, normal, low, scheduled, moved = match(st or '0|0|0|0|0', '^(%d+)|(%d+)|(%d+)|(%d+)|(%d+)$')
  stale_counts = { tonumber(high), tonumber(normal), tonumber(low), tonumber(scheduled), tonumber(moved) }
  stale_known, stale_changed = {}, {}
end
-- `place`: 0 to 2, 3 scheduled.
local function add_stale(id, place)
  local known = stale_known[id] or read_stale()
  stale_known[id], stale_changed[id] = known, true
  known.places, known.generation = known.places .. place, ''
  stale_counts[place + 1] = stale_counts[place + 1] + 1
end
local function drop_stale(id, place)
  local known = stale_known[id]
  if known.places == '' then return end
  local at = find(known.places, place, 1, true) or 1
  local counted = byte(known.places, at) - 47
  known.places = sub(known.places, 1, at - 1) .. sub(known.places, at + 1)
  stale_changed[id] = true
  stale_counts[counted] = stale_counts[counted] - 1
end
local function set_moved(id, moved)
  local known = stale_known[id] or read_stale()
  if known.moved == moved then return end
  stale_known[id], stale_changed[id] = known, true
  known.moved = moved
  stale_counts[5] = stale_counts[5] + (moved == '1' and 1 or -1)
end
local function save_stale()
  local fields, gone, sum = {}, {}, 0
  for id in pairs(stale_changed) do
    local known = stale_known[id]
    if known.places == '' and known.moved == '' then
      gone[#gone + 1] = id
    else
      fields[#fields + 1] = id
      fields[#fields + 1] = known.places .. ':' .. known.generation .. ':' .. known.moved
    end
  end
  if #fields + #gone == 0 then return end
  for i = 1, 5 do sum = sum + stale_counts[i] end
  write('HSET', X, fields)
  write('HDEL', X, gone)
  if sum > 0 then
    call('HSET', M, 'st', table.concat(stale_counts, '|'))
    call('HSET', C, '', '0:9007199254740991:') -- Written like a call that is never the oldest (call-slots.lua).
  else
    call('HDEL', M, 'st', 'sc')
    call('HDEL', C, '')
  end
end
