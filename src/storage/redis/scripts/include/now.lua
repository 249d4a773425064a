-- The store's time in integer milliseconds.
--
-- ARGV[1]  '': Redis TIME; else the time of a test
local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
