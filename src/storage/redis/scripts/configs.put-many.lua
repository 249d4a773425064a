#!lua
-- Brings workers to one revision: each put is a compare-and-set of its own. Many workers share a config, so the texts
-- are sent once and named by their number.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- KEYS[17..]   LIST of config changes of each worker, newest first
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      revision
-- ARGV[3]      actor
-- ARGV[4]      new manager, or '' to leave each as it is
-- ARGV[5]      number of texts
-- ARGV[6..]    these texts: configs, and history rows without time, generation and actor; then of each worker: id,
--              expected generation, number of the expected config, expected manager or '', variant, number of the new
--              config or 0 to keep it, number of the history row or 0
-- Returns for each { generation as text, connection or false }, 'conflict' or 'not_found'; or 'unknown_revision'.
--- @define CONFIG_HISTORY_ROWS
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "revision-use"

local TEXTS, FIELDS = 5, 7
local revision, actor, manager = ARGV[2], ARGV[3], ARGV[4]
local used = redis.call('HGET', ru, revision)
if not used then return 'unknown_revision' end
local puts, ids = {}, {}
for at = TEXTS + ARGV[5] + 1, #ARGV, FIELDS do
  puts[#puts + 1] = at
  ids[#ids + 1] = ARGV[at]
end
local function text(number) return ARGV[TEXTS + number] end
local gens, cfgs = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', cfg, unpack(ids))
local managers, labels = redis.call('HMGET', mb, unpack(ids)), redis.call('HMGET', rv, unpack(ids))
local conns = redis.call('HMGET', conn, unpack(ids))

-- The same text for many workers: it is made once.
local function once(make)
  local made = {}
  return function(key)
    if not made[key] then made[key] = make(key) end
    return made[key]
  end
end
local config_in = once(function(stored) return string.match(stored, '^[^:]*:[^:]*:(.*)$') end) -- After time and actor.
local function is_expected(i, at)
  return gens[i] == ARGV[at + 1] and (managers[i] or '') == ARGV[at + 3] and config_in(cfgs[i]) == text(ARGV[at + 2])
end

local time = int(now)
local stored_form = once(function(number) return time .. ':' .. actor .. ':' .. text(number) end)
local set, rows, results = { g = {}, cfg = {}, rv = {}, mb = {} }, {}, {}
local function put(field, id, value) local pairs = set[field]; pairs[#pairs + 1] = id; pairs[#pairs + 1] = value end
for i, at in ipairs(puts) do
  local id = ids[i]
  if not gens[i] then
    results[i] = 'not_found'
  elseif not is_expected(i, at) then
    results[i] = 'conflict'
  else
    local gen = gens[i]
    if ARGV[at + 5] ~= '0' then
      gen = int(gen + 1)
      put('g', id, gen)
      put('cfg', id, stored_form(ARGV[at + 5]))
      rows[i] = time .. ':' .. gen .. ':' .. actor .. ':' .. text(ARGV[at + 6])
    end
    put('rv', id, gen .. ':' .. revision .. '/' .. ARGV[at + 4])
    if labels[i] then count_use(labels[i], -1) end
    count_use(gen .. ':' .. revision .. '/', 1)
    if manager ~= '' then put('mb', id, manager) end
    results[i] = { gen, conns[i] }
  end
end
if #set.rv == 0 then return results end
local keyOf = { g = g, cfg = cfg, rv = rv, mb = mb }
for field, fields in pairs(set) do
  if #fields > 0 then redis.call('HSET', keyOf[field], unpack(fields)) end
end
for i, row in pairs(rows) do
  redis.call('LPUSH', KEYS[16 + i], row)
  redis.call('LTRIM', KEYS[16 + i], '0', CONFIG_HISTORY_ROWS - 1)
end
local workers, first, rest = string.match(used, '^(%d+):(%d*):%d*(:.*)$')
redis.call('HSET', ru, revision, workers .. ':' .. (first == '' and time or first) .. ':' .. time .. rest)
write_use()
return results
