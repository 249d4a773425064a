#!lua
-- Adds numbers to the current step of each resolution of a type.
--
-- KEYS[1]    ul (workers-layout.ts)
-- ARGV[1]    time of a test, or ''
-- ARGV[2]    number of resolutions
-- ARGV[3..]  of each resolution: length of a step, ms, and number of steps that are kept; then the number of values of
--            the peaks, name and value of each peak, name and value of each sum
-- Returns 'OK'.
--- @keys ul
--- @include "now"
--- @include "int"

local MAX_VALUE = 9007199254740991
local at, steps, fields = 3, {}, {}
for i = 1, tonumber(ARGV[2]) do
  local ms, kept = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local n = math.floor(now / ms)
  steps[i] = int(n)
  fields[i] = int(ms) .. ':' .. int(n % kept)
  at = at + 2
end
local first_peak = at + 1
local first_sum = first_peak + tonumber(ARGV[at])

local function numbers_of(stored, step)
  local n, text = string.match(stored or '', '^(%d+):(.*)$')
  if n ~= step then return { p = {}, s = {} } end
  return cjson.decode(text)
end
local function text_of(numbers)
  local parts = {}
  for name, value in pairs(numbers) do parts[#parts + 1] = '"' .. name .. '":' .. int(value) end
  return '{' .. table.concat(parts, ',') .. '}'
end

local stored, writes = redis.call('HMGET', ul, unpack(fields)), {}
for i, field in ipairs(fields) do
  local numbers = numbers_of(stored[i], steps[i])
  local p, s = numbers.p, numbers.s
  for j = first_peak, first_sum - 1, 2 do p[ARGV[j]] = math.max(p[ARGV[j]] or 0, tonumber(ARGV[j + 1])) end
  for j = first_sum, #ARGV, 2 do s[ARGV[j]] = math.min((s[ARGV[j]] or 0) + tonumber(ARGV[j + 1]), MAX_VALUE) end
  writes[#writes + 1] = field
  writes[#writes + 1] = steps[i] .. ':{"p":' .. text_of(p) .. ',"s":' .. text_of(s) .. '}'
end
redis.call('HSET', ul, unpack(writes))
return redis.status_reply('OK')
