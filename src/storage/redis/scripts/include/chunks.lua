-- Runs commands over lists of any length. `unpack` takes at most 8,000 values, so long lists are sent in pieces. Pieces
-- have an even length, so that no pair is split.
local PIECE = 4000
local function write(command, key, list)
  for i = 1, #list, PIECE do redis.call(command, key, unpack(list, i, math.min(i + PIECE - 1, #list))) end
end
local function read(command, key, list)
  local results = {}
  for i = 1, #list, PIECE do
    local part = redis.call(command, key, unpack(list, i, math.min(i + PIECE - 1, #list)))
    for _, value in ipairs(part) do results[#results + 1] = value end
  end
  return results
end
