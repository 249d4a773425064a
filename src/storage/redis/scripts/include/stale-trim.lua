-- Cuts stale tickets off both ends of a tier, and those that are due first off D: at most MAX_TRIMMED per call. It
-- needs the keys X, M, C and D.
--- @include "stale-changes"
local MAX_TRIMMED = 1000
local function count_stale(tickets, first, last, step)
  local ids, n = learn_tickets(tickets), 0
  for i = first, last, step do
    if not is_stale(tickets[i], ids[i]) then break end
    n = n + 1
  end
  return n, ids
end
local function trim_tier(key, place)
  for _ = 1, MAX_TRIMMED / STALE_STEP do
    if stale_counts[place + 1] == 0 then return end
    local front, back = call('LRANGE', key, 0, STALE_STEP - 1), call('LRANGE', key, -STALE_STEP, -1)
    local n, ids = count_stale(front, 1, #front, 1)
    for i = 1, n do drop_stale(ids[i], place) end
    if n > 0 then call('LTRIM', key, n, -1) end
    local last = 0
    if #front == STALE_STEP then
      last, ids = count_stale(back, #back, 1, -1)
      last = math.min(last, call('LLEN', key))
      for i = #back, #back - last + 1, -1 do drop_stale(ids[i], place) end
      if last > 0 then call('LTRIM', key, 0, -last - 1) end
    end
    if n < STALE_STEP and last < STALE_STEP then return end
  end
end
-- Returns when the next task is due, or nil.
local function trim_scheduled()
  for _ = 1, MAX_TRIMMED / STALE_STEP do
    local due = call('ZRANGE', D, 0, stale_counts[4] > 0 and STALE_STEP - 1 or 0, 'WITHSCORES')
    local tickets = {}
    for i = 1, #due, 2 do tickets[#tickets + 1] = due[i] end
    local n, ids = count_stale(tickets, 1, #tickets, 1)
    for i = 1, n do drop_stale(ids[i], 3) end
    write('ZREM', D, { unpack(tickets, 1, n) })
    if n < #tickets or n == 0 then return due[2 * n + 2] end
  end
  return call('ZRANGE', D, 0, 0, 'WITHSCORES')[2]
end
