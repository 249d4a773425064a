-- Shortens names for the scripts of tasks, and runs commands with any number of arguments: Lua passes at most about
-- 8,000 in one call. Pieces have an even length, so that no pair is split.
local call, match, sub, find, byte, floor = redis.call, string.match, string.sub, string.find, string.byte, math.floor
local function write(command, key, list)
  local n = #list
  if n <= 2000 then return n > 0 and call(command, key, unpack(list)) end
  local last
  for i = 1, n, 2000 do last = call(command, key, unpack(list, i, math.min(i + 1999, n))) end
  return last
end
local function fetch(key, fields)
  if #fields == 0 then return {} end
  if #fields <= 2000 then return call('HMGET', key, unpack(fields)) end
  local values = {}
  for i = 1, #fields, 2000 do
    local part = call('HMGET', key, unpack(fields, i, math.min(i + 1999, #fields)))
    for j = 1, #part do values[i + j - 1] = part[j] end
  end
  return values
end
