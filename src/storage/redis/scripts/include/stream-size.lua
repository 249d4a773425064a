-- Reads the bytes of all flushes: as stored in `size`, or counted if an older release changed the stream since.
--
-- KEYS[2]  LIST of flushes
--- @include "int"
local function kept_bytes(size, last, length)
  local at, n, bytes = string.match(size or '', '^(%d+):(%d+):(%d+)$')
  return at and tonumber(at) == last and tonumber(n) == length and tonumber(bytes) or nil
end
local function counted_bytes()
  local total, from = 0, 0
  repeat
    local part = redis.call('LRANGE', KEYS[2], from, from + 999)
    for _, row in ipairs(part) do total = total + string.match(row, '%d+$') end
    from = from + 1000
  until #part < 1000
  return total
end
local function size_text(last, length, bytes) return int(last) .. ':' .. int(length) .. ':' .. int(bytes) end
