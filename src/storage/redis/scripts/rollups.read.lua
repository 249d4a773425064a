#!lua flags=no-writes
-- Reads the steps of one resolution of a type.
--
-- KEYS[1]  ul (workers-layout.ts)
-- ARGV[1]  time of a test, or ''
-- ARGV[2]  length of a step, ms
-- ARGV[3]  number of steps that are kept
-- ARGV[4]  earliest start of a step, ms
-- ARGV[5]  end, ms
-- Returns the stored texts of the steps, oldest first.
--- @keys ul
--- @include "now"
--- @include "int"
--- @include "chunks"

local ms, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local current = math.floor(now / ms)
local first = math.max(math.ceil(tonumber(ARGV[4]) / ms), current - kept + 1)
local last = math.min(math.ceil(tonumber(ARGV[5]) / ms) - 1, current)
local fields = {}
for n = first, last do fields[#fields + 1] = int(ms) .. ':' .. int(n % kept) end
local texts = {}
for i, text in ipairs(read('HMGET', ul, fields)) do
  if text and string.match(text, '^%d+') == int(first + i - 1) then texts[#texts + 1] = text end
end
return texts
