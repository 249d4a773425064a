/**
 * @module storage/redis/workers-register-script
 * Joining and leaving the registry. A batch acts in order: every item reads what the earlier ones left, in `known`, and
 * the result is written once an id.
 */
import { REGISTRY, STATE_OF } from './workers-layout.ts'
import { script } from './script.ts'

/**
 * ARGV: the bound on records, then per item id, conn, instance, hardware, default config.
 * Returns per item false (full) or { what the record said before or false: it was created, drain, replaced or false,
 * generation as text: ioredis rounds integers near 2^53 }.
 */
export const REGISTER = script(
  'workers.register',
  [],
  `
${REGISTRY}
${STATE_OF}
local ids = {}
for i = 3, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
local gens, descs, sts = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', desc, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local conns, drs, kept = redis.call('HMGET', conn, unpack(ids)), redis.call('HMGET', dr, unpack(ids)), redis.call('ZMSCORE', gone, unpack(ids))
local room = tonumber(ARGV[2]) - redis.call('HLEN', g)

local known = {}
for i, id in ipairs(ids) do
  known[id] = { gen = gens[i], desc = descs[i], st = sts[i], conn = conns[i], dr = drs[i], kept = kept[i] }
end
local time = int(now)

local function create(worker, defaults)
  if room <= 0 then return false end
  room = room - 1
  worker.gen = worker.kept and int(worker.kept + 1) or '0'
  worker.st, worker.cfg, worker.registered = 'IDLE:' .. time .. '::', '::' .. defaults, time
  return { false, 0, false, worker.gen }
end
local function renew(worker, item, binding)
  local state, _, rest = stateOf(worker.st)
  local before = (worker.dr and 'DRAINING' or state) .. ':' .. rest
  local concerned = worker.dr and (worker.dr == '' or worker.dr == binding)
  if worker.dr and not concerned then state = 'IDLE' end
  worker.dr = concerned and binding
  worker.st = state .. ':' .. time .. ':' .. rest
  worker.registered = worker.registered or string.match(worker.desc, '^%d+')
  return { before, concerned and 1 or 0, worker.conn and worker.conn ~= item.conn and worker.conn, worker.gen }
end

local results = {}
for i, id in ipairs(ids) do
  local at, worker = 5 * i - 2, known[id]
  local item = { conn = ARGV[at + 1], instance = ARGV[at + 2] }
  local answer
  if worker.gen then
    answer = renew(worker, item, item.instance == '' and 'c' .. item.conn or 'i' .. item.instance)
  else
    answer = create(worker, ARGV[at + 4])
  end
  if answer then
    worker.conn, worker.desc, worker.touched = item.conn, worker.registered .. ':' .. item.instance .. ':' .. ARGV[at + 3], true
  end
  results[i] = answer
end

local set = { desc = {}, st = {}, sn = {}, conn = {}, dr = {}, g = {}, cfg = {} }
local undrained, members, returned = {}, {}, {}
local function put(field, id, value) local pairs = set[field]; pairs[#pairs + 1] = id; pairs[#pairs + 1] = value end
for id, worker in pairs(known) do
  if worker.touched then
    put('desc', id, worker.desc)
    put('st', id, worker.st)
    put('sn', id, time)
    put('conn', id, worker.conn)
    if worker.dr then put('dr', id, worker.dr) else undrained[#undrained + 1] = id end
    if worker.cfg then
      put('g', id, worker.gen)
      put('cfg', id, worker.cfg)
      members[#members + 1] = '0'
      members[#members + 1] = id
      if worker.kept then returned[#returned + 1] = id end
    end
  end
end
local keyOf = { desc = desc, st = st, sn = sn, conn = conn, dr = dr, g = g, cfg = cfg }
for field, fields in pairs(set) do
  if #fields > 0 then redis.call('HSET', keyOf[field], unpack(fields)) end
end
if #undrained > 0 then redis.call('HDEL', dr, unpack(undrained)) end
if #members > 0 then redis.call('ZADD', ix, unpack(members)) end
if #returned > 0 then redis.call('ZREM', gone, unpack(returned)) end
return results
`,
)

/** ARGV: per item id, conn. Clears only where the connection is still this one. */
export const DISCONNECT = script(
  'workers.disconnect',
  ['allow-oom'],
  `
${REGISTRY}
${STATE_OF}
local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local conns, sts = redis.call('HMGET', conn, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local cleared, states = {}, {}
for i, id in ipairs(ids) do
  if conns[i] and conns[i] == ARGV[2 * i + 1] then
    local state, _, rest = stateOf(sts[i])
    cleared[#cleared + 1] = id
    states[#states + 1] = id
    states[#states + 1] = state .. ':' .. int(now) .. ':' .. rest
  end
end
if #cleared > 0 then
  redis.call('HDEL', conn, unpack(cleared))
  redis.call('HSET', st, unpack(states))
end
return #cleared
`,
)

/**
 * ARGV: the bound on kept generations, then ids; KEYS behind the registry's: ring and history of each. Returns 1 or 0.
 * Above the bound the lowest generations go: the poll's raise makes that good.
 */
export const FORGET = script(
  'workers.forget',
  ['allow-oom'],
  `
${REGISTRY}
local ids = { unpack(ARGV, 3) }
local gens = redis.call('HMGET', g, unpack(ids))
local results, known, scores, lists, seen = {}, {}, {}, {}, {}
for i, id in ipairs(ids) do
  local isKnown = gens[i] and not seen[id]
  seen[id] = true
  results[i] = isKnown and 1 or 0
  if isKnown then
    known[#known + 1] = id
    scores[#scores + 1] = gens[i]
    scores[#scores + 1] = id
    lists[#lists + 1] = KEYS[10 + 2 * i]
    lists[#lists + 1] = KEYS[11 + 2 * i]
  end
end
if #known == 0 then return results end
local excess = redis.call('ZCARD', gone) + #known - tonumber(ARGV[2])
for _, field in ipairs({ desc, st, sn, conn, dr, mb, g, cfg, cs }) do redis.call('HDEL', field, unpack(known)) end
redis.call('ZREM', ix, unpack(known))
redis.call('UNLINK', unpack(lists))
redis.call('ZADD', gone, unpack(scores))
if excess > 0 then redis.call('ZPOPMIN', gone, int(excess)) end
return results
`,
)
