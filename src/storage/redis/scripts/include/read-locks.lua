-- Reads and writes locks.
--
-- read_locks(first, fields) reads the locks that ARGV[first..] names, with `fields` arguments each, the name first. It
-- returns the names, and `held`: name -> { token, untilMs, owner } of those that are held. keep(changed) writes such
-- locks.
--- @include "int"
--- @include "chunks"
--- @include "locks"
local function read_locks(first, fields)
  local names, held = {}, {}
  for k = first, #ARGV, fields do names[#names + 1] = ARGV[k] end
  for k, record in ipairs(read('HMGET', records, names)) do
    if record then
      local token, untilMs, owner = string.match(record, '^(%d+):(%d+):(.*)$')
      held[names[k]] = { token = token, untilMs = tonumber(untilMs), owner = owner }
    end
  end
  return names, held
end
local function keep(changed)
  local texts, times = {}, {}
  for name, lock in pairs(changed) do
    texts[#texts + 1] = name
    texts[#texts + 1] = lock.token .. ':' .. int(lock.untilMs) .. ':' .. lock.owner
    times[#times + 1] = int(lock.untilMs)
    times[#times + 1] = name
  end
  write('HSET', records, texts)
  write('ZADD', ends, times)
end
