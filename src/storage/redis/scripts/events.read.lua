#!lua flags=no-writes
-- Reads events behind a number, up to READ_BYTES of them, but one at least.
--
-- KEYS[1]  LIST of entries
-- KEYS[2]  HASH of the log
-- ARGV[2]  run, or '' for the current one
-- ARGV[3]  number before the first event
-- ARGV[4]  maximum number of events
-- Returns { run, number of the first entry, entries }; nil if the log does not reach back so far.
local READ_BYTES = 32 * 1048576

local state = redis.call('HMGET', KEYS[2], 'last', 'run')
local last, run, after = tonumber(state[1] or 0), state[2] or '', tonumber(ARGV[3])
local first = last - redis.call('LLEN', KEYS[1]) + 1
if (ARGV[2] ~= '' and ARGV[2] ~= run) or after > last or after < first - 1 then return false end
local entries, bytes = {}, 0
for at = after + 1 - first, math.min(last - first, after - first + tonumber(ARGV[4])), 500 do
  for _, entry in ipairs(redis.call('LRANGE', KEYS[1], at, math.min(at + 499, after - first + tonumber(ARGV[4])))) do
    bytes = bytes + #entry
    if #entries > 0 and bytes > READ_BYTES then return { run, after + 1, entries } end
    entries[#entries + 1] = entry
  end
end
return { run, after + 1, entries }
