#!lua flags=allow-oom
-- Extends claims, and counts it. No hold becomes shorter.
--
-- KEYS[1..8]  all keys of the pool (include/pool.lua)
-- ARGV[1]     time of a test, or ''
-- ARGV[2..]   id, token and hold in ms of each
-- Returns the end of each hold in ms; 0: lost. nil: 500 entries were pruned; run it again.
--- @include "now"
--- @include "int"
--- @include "pool-claims"

local ids, ends, until_of, held = read_claims(3)
local results, changed, texts, counted = {}, {}, {}, {}
for k, id in ipairs(ids) do
  local untilMs = until_of(k)
  if untilMs then
    ends[id] = math.max(untilMs, now + tonumber(ARGV[3 * k + 1]))
    changed[#changed + 1] = int(ends[id])
    changed[#changed + 1] = id
    local token, renewals, rest = string.match(texts[id] or held[k], '^(%d+);(%d+)(;.*)$')
    if token then texts[id] = token .. ';' .. int(renewals + 1) .. rest end
  end
  results[k] = untilMs and ends[id] or 0
end
for id, text in pairs(texts) do
  counted[#counted + 1] = id
  counted[#counted + 1] = text
end
write('ZADD', claimed, changed)
write('HSET', owners, counted)
return results
