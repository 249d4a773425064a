#!lua flags=no-writes
-- Lists the groups of dead tasks.
--
-- KEYS[1..3]  DI DG DM  groups of dead tasks, and dead records
-- KEYS[4]     DE  facts of dead tasks
-- ARGV[1]     time of a test, or ''
-- ARGV[2]     beginning of the first interval of the trend
-- Returns for each group its name, its number of tasks, the time of the first death, time and number of the last one,
-- id and error of this task, then the numbers of deaths by interval, and the workers of the newest deaths as JSON. Both
-- are separated by line breaks.
--- @keys DI DG DM DE
--- @include "commands"
--- @include "int"
--- @include "now"
--- @include "dead-group-members"
--- @define TREND_INTERVAL_MS
--- @define TREND_INTERVALS
--- @define GROUP_DEATHS_READ
-- Bytes of an error that are more than the characters of an example.
local ERROR_BYTES = 4096

local first_interval = math.floor(now / TREND_INTERVAL_MS) - TREND_INTERVALS + 1
local function trend_of(group, last_died)
  local counts = {}
  for i = 1, TREND_INTERVALS do
    local from = (first_interval + i - 1) * TREND_INTERVAL_MS
    counts[i] = 0
    if from <= last_died then
      counts[i] = call('ZLEXCOUNT', DI, first_since(group, from), behind(group, from + TREND_INTERVAL_MS))
    end
  end
  return table.concat(counts, '\n')
end
local function workers_of(ids)
  local workers = {}
  for i, facts in ipairs(fetch(DE, ids)) do
    workers[i] = facts and match(facts, '.*"worker":(".-")}\n$') or '""'
  end
  return table.concat(workers, '\n')
end

local reply, groups = {}, call('HGETALL', DG)
for i = 1, #groups, 2 do
  local group = groups[i]
  local first, past = first_since(group, 0), behind(group)
  local newest = call('ZRANGE', DI, past, first, 'BYLEX', 'REV', 'LIMIT', 0, GROUP_DEATHS_READ)
  local oldest = call('ZRANGE', DI, first, past, 'BYLEX', 'LIMIT', 0, 1)[1]
  if oldest then
    local ids = {}
    for j = 1, #newest do ids[j] = id_of(newest[j]) end
    local length, rest = match(call('HGET', DM, ids[1]) or '', '^%d+:%d+:(%d+):(.*)$')
    local died = died_of(newest[1])
    reply[#reply + 1] = {
      group, tonumber(groups[i + 1]), int(died_of(oldest)), int(died), int(number_of(newest[1])), ids[1],
      length and sub(rest, length + 1, length + ERROR_BYTES) or '', trend_of(group, died), workers_of(ids),
    }
  end
end
return reply
