-- Keeps the outcomes of retained tasks (D110). tasks-layout.ts documents the format. It needs the keys T, M, O, OZ
-- and E.
--- @include "commands"
--- @include "int"
--- @include "bodies-per-read"
--- @include "memory-reserve"
--- @define MAX_OUTCOME_BYTES
--- @define OUTCOME_BYTES
-- The time in ms, for a script that rarely needs it.
local time_ms
local function now_ms()
  if not time_ms and ARGV[1] ~= '' then time_ms = tonumber(ARGV[1]) end
  if not time_ms then
    local time = call('TIME')
    time_ms = time[1] * 1000 + floor(time[2] / 1000)
  end
  return time_ms
end
-- Returns how long the outcomes of these tasks are retained in ms, false where it is unknown. A body begins with it.
local function retentions(ids)
  local results = {}
  for from = 1, #ids, BODIES_PER_READ do
    local part = { unpack(ids, from, math.min(from + BODIES_PER_READ - 1, #ids)) }
    for i, body in ipairs(call('HMGET', T, unpack(part))) do
      local seconds = body and match(sub(body, 1, 60), '^{"retain_seconds":([%d.]+),')
      results[from + i - 1] = seconds and floor(seconds * 1000 + 0.5)
    end
  end
  return results
end
-- ended: { id, kind (d done, e expired, c cancelled), attempt, worker, result, has_facts } of each retained task that
-- ends at `at`. Their bodies and facts are still there. Beyond the bounds, the outcomes nearest to their expiry are
-- evicted.
local function keep_outcomes(ended, at, most)
  if #ended == 0 or most == 0 or is_reserved() then return end
  local ids, rows, order, bytes = {}, {}, {}, 0
  for i = 1, #ended do ids[i] = ended[i].id end
  for i, retain in ipairs(retentions(ids)) do
    local one = ended[i]
    if retain then
      local expires = int(at + retain)
      local attempts = one.has_facts and call('HGET', E, one.id) or ''
      attempts = match(attempts, '^%d[^\n]*\n(.*)$') or attempts -- Without the progress.
      local numbers = { one.kind, int(at), expires, one.attempt, #one.worker, attempts ~= '' and #attempts or nil }
      -- A task that a master of an earlier release let in may replace an outcome.
      if call('ZREM', OZ, one.id) == 1 then bytes = bytes - OUTCOME_BYTES - #one.id - call('HSTRLEN', O, one.id) end
      rows[#rows + 1] = one.id
      rows[#rows + 1] = table.concat(numbers, '|') .. ':' .. one.worker .. attempts .. one.result
      order[#order + 1] = expires
      order[#order + 1] = one.id
      bytes = bytes + OUTCOME_BYTES + #one.id + #rows[#rows]
    end
  end
  write('HSET', O, rows)
  write('ZADD', OZ, order)
  local total, count = call('HINCRBY', M, 'ob', bytes), call('ZCARD', OZ)
  local evicted = 0
  while count > 0 and (count > most or total - evicted > MAX_OUTCOME_BYTES) do
    local id = call('ZPOPMIN', OZ)[1]
    evicted = evicted + OUTCOME_BYTES + #id + call('HSTRLEN', O, id)
    call('HDEL', O, id)
    count = count - 1
  end
  if evicted > 0 then call('HINCRBY', M, 'ob', int(-evicted)) end
end
