/**
 * @module storage/redis/workers-scripts
 * Drains, who manages a worker, and reading. Drain and manage run at the memory limit: what they add is small, and
 * bound by the number of records.
 */
import { REGISTRY, STATE_OF } from './workers-layout.ts'
import { script } from './script.ts'

/**
 * ARGV: number of live masters, their ids, then worker ids. A worker on a connection of a live master is bound to its
 * process, any other one to whichever registers next (D6). Returns per id false (not known) or { conn or false }.
 */
export const DRAIN = script(
  'workers.drain',
  ['allow-oom'],
  `
${REGISTRY}
${STATE_OF}
local masters = tonumber(ARGV[2])
local live = {}
for i = 3, 2 + masters do live[ARGV[i]] = true end
local ids = { unpack(ARGV, 3 + masters) }
local descs, conns = redis.call('HMGET', desc, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local drs, sts = redis.call('HMGET', dr, unpack(ids)), redis.call('HMGET', st, unpack(ids))
local results, bindings, states = {}, {}, {}
for i, id in ipairs(ids) do
  results[i] = false
  if descs[i] then
    local master = conns[i] and string.match(conns[i], '^(.*)/')
    local instance = string.match(descs[i], '^%d+:([^:]*):')
    local binding = ''
    if master and live[master] then binding = instance == '' and 'c' .. conns[i] or 'i' .. instance end
    bindings[#bindings + 1] = id
    bindings[#bindings + 1] = binding
    if not drs[i] then
      local state, _, rest = stateOf(sts[i])
      states[#states + 1] = id
      states[#states + 1] = state .. ':' .. int(now) .. ':' .. rest
    end
    results[i] = { conns[i] }
  end
end
if #bindings > 0 then redis.call('HSET', dr, unpack(bindings)) end
if #states > 0 then redis.call('HSET', st, unpack(states)) end
return results
`,
)

/** ARGV: per item id, managed by ('': none). Returns 1, or 0 where the worker is not known. */
export const MANAGE = script(
  'workers.manage',
  ['allow-oom'],
  `
${REGISTRY}
local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local gens = redis.call('HMGET', g, unpack(ids))
local results, final = {}, {}
for i, id in ipairs(ids) do
  results[i] = gens[i] and 1 or 0
  if gens[i] then final[id] = ARGV[2 * i + 1] end
end
local managed, free = {}, {}
for id, by in pairs(final) do
  if by == '' then
    free[#free + 1] = id
  else
    managed[#managed + 1] = id
    managed[#managed + 1] = by
  end
end
if #managed > 0 then redis.call('HSET', mb, unpack(managed)) end
if #free > 0 then redis.call('HDEL', mb, unpack(free)) end
return results
`,
)

/** Rows of a page that are read before the rest, however many are asked for: each may be a megabyte. */
const FIRST_ROWS = 2

const ROWS = `
local function rows(ids)
  local answer = { ids }
  if #ids == 0 then return answer end
  for i, field in ipairs({ g, cfg, desc, st, sn, conn, dr, mb, cs }) do answer[i + 1] = redis.call('HMGET', field, unpack(ids)) end
  return answer
end`

/** ARGV: ids. Returns { ids, g, cfg, desc, st, sn, conn, dr, mb, cs }, each a list. */
export const GET = script(
  'workers.get',
  ['no-writes'],
  `
${REGISTRY}
${ROWS}
return rows({ unpack(ARGV, 2) })
`,
)

/**
 * ARGV: '-' or '(' with the id to begin behind, number of rows, bytes. Returns as {@link GET}, as far as an answer
 * reaches: a few rows tell how large the others may be, and what is read beyond the bound is left out.
 */
export const PAGE = script(
  'workers.page',
  ['no-writes'],
  `
${REGISTRY}
${ROWS}
local limit = tonumber(ARGV[4])
local ids = redis.call('ZRANGE', ix, ARGV[2], '+', 'BYLEX', 'LIMIT', '0', ARGV[3])
local answer, bytes, size = { {}, {}, {}, {}, {}, {}, {}, {}, {}, {} }, 0, ${FIRST_ROWS}
while #answer[1] < #ids do
  local from = #answer[1]
  local part = rows({ unpack(ids, from + 1, math.min(from + size, #ids)) })
  for k = 1, #part[1] do
    for _, column in ipairs(part) do bytes = bytes + (column[k] and #column[k] or 0) end
    if bytes > limit and #answer[1] > 0 then return answer end
    for c, column in ipairs(part) do answer[c][from + k] = column[k] end
  end
  size = math.max(1, math.floor((limit - bytes) / bytes * #answer[1]))
end
return answer
`,
)

/**
 * KEYS behind the registry's: the ring. ARGV: id. Returns all frames, oldest first, or false where the worker is not
 * known.
 */
export const STATS = script(
  'stats.read',
  ['no-writes'],
  `
${REGISTRY}
if redis.call('HEXISTS', g, ARGV[2]) == 0 then return false end
return redis.call('LRANGE', KEYS[12], '0', '-1')
`,
)
