#!lua
-- Registers workers. A batch acts in order: every item reads what the earlier ones left, in `known`, and the result is
-- written once per id.
--
-- KEYS[1..16]  keys of the registry (include/registry.lua)
-- KEYS[17]     en (workers-layout.ts)
-- ARGV[1]      time of a test, or ''
-- ARGV[2]      bound on the number of records
-- ARGV[3..]    of each: id, connection, instance, hardware, labels or '', default config, version of the enrolment
--              rules or '', label of the enrolment or '', and its manager or ''
-- Returns for each 'full' or 'rules_changed', or { what the record reported before or false if it was created, 1 if the
-- worker drains, replaced connection or false, generation as text: ioredis rounds integers near 2^53, 1 if another
-- instance than before registers }.
--- @include "now"
--- @include "int"
--- @include "registry"
--- @include "state"
--- @include "revision-use"
--- @include "drain-request"

local en, FIELDS = KEYS[17], 9
local ids = {}
for i = 3, #ARGV, FIELDS do ids[#ids + 1] = ARGV[i] end
local gens, descs = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', desc, unpack(ids))
local sts, conns = redis.call('HMGET', st, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local drs, kept = redis.call('HMGET', dr, unpack(ids)), redis.call('ZMSCORE', gone, unpack(ids))
local revisions, requests = redis.call('HMGET', rv, unpack(ids)), redis.call('HMGET', da, unpack(ids))
local room = tonumber(ARGV[2]) - redis.call('HLEN', g)

local known = {}
for i, id in ipairs(ids) do
  known[id] = { gen = gens[i], desc = descs[i], st = sts[i], conn = conns[i], dr = drs[i], kept = kept[i],
    revision = revisions[i], request = requests[i] }
end
local time = int(now)

local version -- Of the rules: read for the first worker that is created.
local function create(worker, item)
  if room <= 0 then return 'full' end
  version = version or redis.call('HGET', en, '') or ''
  if item.rules ~= version then return 'rules_changed' end
  room = room - 1
  worker.gen = worker.kept and int(worker.kept + 1) or '0'
  worker.st, worker.cfg, worker.registered = 'IDLE:' .. time .. '::', '::' .. item.defaults, time
  worker.label, worker.manager = item.label, item.manager
  return { false, 0, false, worker.gen }
end
local function renew(worker, item, binding)
  local state, since, rest = state_of(worker.st)
  local before = (worker.dr and 'DRAINING' or state) .. ':' .. rest
  local concerned = worker.dr and (worker.dr == '' or worker.dr == binding)
  if worker.dr and not concerned then state = 'IDLE' end
  worker.dr = concerned and binding
  local request = concerned and request_of(worker.request, since)
  worker.request = request and time .. ':' .. request
  worker.st = state .. ':' .. time .. ':' .. rest
  local registered, instance = string.match(worker.desc, '^(%d+):([^:]*):')
  worker.registered = worker.registered or registered
  local restart = item.instance ~= '' and item.instance ~= instance and 1 or 0
  return { before, concerned and 1 or 0, worker.conn and worker.conn ~= item.conn and worker.conn, worker.gen, restart }
end

local results = {}
for i, id in ipairs(ids) do
  local at, worker = FIELDS * i - 6, known[id]
  local item = { conn = ARGV[at + 1], instance = ARGV[at + 2], defaults = ARGV[at + 5], rules = ARGV[at + 6],
    label = ARGV[at + 7], manager = ARGV[at + 8] }
  local result
  if worker.gen then
    result = renew(worker, item, item.instance == '' and 'c' .. item.conn or 'i' .. item.instance)
  else
    result = create(worker, item)
  end
  if type(result) == 'table' then
    worker.conn, worker.touched = item.conn, true
    worker.desc = worker.registered .. ':' .. item.instance .. ':' .. ARGV[at + 3]
    worker.labels = ARGV[at + 4]
  end
  results[i] = result
end

local set = { desc = {}, st = {}, sn = {}, conn = {}, dr = {}, g = {}, cfg = {}, lb = {}, rv = {}, mb = {}, da = {} }
local undrained, unlabelled, members, returned, stale, enrolled = {}, {}, {}, {}, {}, {}
local unrequested, registered = {}, {}
local function put(field, id, value) local pairs = set[field]; pairs[#pairs + 1] = id; pairs[#pairs + 1] = value end
for id, worker in pairs(known) do
  if worker.touched then
    put('desc', id, worker.desc)
    put('st', id, worker.st)
    put('sn', id, time)
    put('conn', id, worker.conn)
    registered[#registered + 1] = id
    if worker.dr and worker.request then put('da', id, worker.request) else unrequested[#unrequested + 1] = id end
    if worker.dr then put('dr', id, worker.dr) else undrained[#undrained + 1] = id end
    if worker.labels ~= '' then put('lb', id, worker.labels) else unlabelled[#unlabelled + 1] = id end
    if worker.cfg then
      put('g', id, worker.gen)
      put('cfg', id, worker.cfg)
      members[#members + 1] = '0'
      members[#members + 1] = id
      if worker.kept then returned[#returned + 1] = id end
      if worker.revision then -- Of a worker that a release without revisions forgot.
        stale[#stale + 1] = id
        count_use(worker.revision, -1)
      end
      if worker.label ~= '' then
        local label = worker.gen .. ':' .. worker.label
        put('rv', id, label)
        count_use(label, 1)
        enrolled[string.match(worker.label, '^[^/]*')] = true
      end
      if worker.manager ~= '' then put('mb', id, worker.manager) end
    end
  end
end
local keyOf = { desc = desc, st = st, sn = sn, conn = conn, dr = dr, g = g, cfg = cfg, lb = lb, rv = rv, mb = mb,
  da = da }
if #stale > 0 then redis.call('HDEL', rv, unpack(stale)) end
for field, fields in pairs(set) do
  if #fields > 0 then redis.call('HSET', keyOf[field], unpack(fields)) end
end
if #registered > 0 then redis.call('HDEL', dp, unpack(registered)) end
if #unrequested > 0 then redis.call('HDEL', da, unpack(unrequested)) end
if #undrained > 0 then redis.call('HDEL', dr, unpack(undrained)) end
if #unlabelled > 0 then redis.call('HDEL', lb, unpack(unlabelled)) end
for revision in pairs(enrolled) do mark_used(revision, time) end
write_use()
if #members > 0 then redis.call('ZADD', ix, unpack(members)) end
if #returned > 0 then redis.call('ZREM', gone, unpack(returned)) end
return results
