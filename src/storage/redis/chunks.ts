/**
 * @module storage/redis/chunks
 * Lua for commands over lists of any length. `unpack` takes at most 8,000 values, so long lists travel in pieces;
 * pieces of even length never part a pair.
 */
export const CHUNKS = `
local PIECE = 4000
local function write(command, key, list)
  for i = 1, #list, PIECE do redis.call(command, key, unpack(list, i, math.min(i + PIECE - 1, #list))) end
end
local function read(command, key, list)
  local results = {}
  for i = 1, #list, PIECE do
    for _, answer in ipairs(redis.call(command, key, unpack(list, i, math.min(i + PIECE - 1, #list)))) do results[#results + 1] = answer end
  end
  return results
end
`
