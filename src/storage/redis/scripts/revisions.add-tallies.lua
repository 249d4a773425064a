#!lua
-- Adds to the tallies of revisions. One that is not stored is left out.
--
-- KEYS[1..2]  ru rt (workers-layout.ts)
-- ARGV[2..]   of each revision: name, number of counters, and name and value of each counter
-- Returns 'OK'.
--- @define MAX_TALLY_COUNTERS
--- @keys ru rt

local MAX_VALUE = 9007199254740991
local PREFIX = 'counter.'
local function is_plugin(name) return string.sub(name, 1, #PREFIX) == PREFIX end

local function read(revision)
  local stored = redis.call('HGET', rt, revision)
  local tally, plugins = stored and cjson.decode(stored) or {}, 0
  for name in pairs(tally) do
    if is_plugin(name) then plugins = plugins + 1 end
  end
  return tally, plugins
end
local function text_of(tally)
  local parts = {}
  for name, value in pairs(tally) do parts[#parts + 1] = cjson.encode(name) .. ':' .. string.format('%.17g', value) end
  return '{' .. table.concat(parts, ',') .. '}'
end

local at = 2
while at <= #ARGV do
  local revision, last = ARGV[at], at + 1 + 2 * ARGV[at + 1]
  if redis.call('HEXISTS', ru, revision) == 1 then
    local tally, plugins = read(revision)
    for i = at + 2, last, 2 do
      local name, before = ARGV[i], tally[ARGV[i]]
      local is_new = not before and is_plugin(name)
      if not is_new or plugins < MAX_TALLY_COUNTERS then
        if is_new then plugins = plugins + 1 end
        tally[name] = math.min((before or 0) + tonumber(ARGV[i + 1]), MAX_VALUE)
      end
    end
    redis.call('HSET', rt, revision, text_of(tally))
  end
  at = last + 1
end
return redis.status_reply('OK')
