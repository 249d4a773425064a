/**
 * @module storage/redis/configs-scripts
 * Scripts that read and change configs. workers-layout.ts defines where they are stored.
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import { REGISTRY } from './workers-layout.ts'
import { script } from './script.ts'

/**
 * KEYS behind the registry's: the history. ARGV: id, expected generation, the next one, actor, config, history row
 * without its time. Returns { 'put', conn or false }, { 'conflict', generation, cfg } or { 'unknown' }.
 */
export const PUT = script(
  'configs.put',
  [],
  `
${REGISTRY}
local id = ARGV[2]
local gen, old, owner = redis.call('HGET', g, id), redis.call('HGET', cfg, id), redis.call('HGET', conn, id)
if not gen then return { 'unknown' } end
if gen ~= ARGV[3] then return { 'conflict', gen, old } end
redis.call('HSET', g, id, ARGV[4])
redis.call('HSET', cfg, id, int(now) .. ':' .. ARGV[5] .. ':' .. ARGV[6])
redis.call('LPUSH', KEYS[12], int(now) .. ':' .. ARGV[7])
redis.call('LTRIM', KEYS[12], '0', '${CONFIG_HISTORY_ROWS - 1}')
return { 'put', owner }
`,
)

/** ARGV: ids. Returns { generations, cfgs }. */
export const GET_CONFIGS = script(
  'configs.get',
  ['no-writes'],
  `
${REGISTRY}
return { redis.call('HMGET', g, unpack(ARGV, 2)), redis.call('HMGET', cfg, unpack(ARGV, 2)) }
`,
)

/** KEYS: the history. ARGV: number of rows, number of newer rows to leave out. Newest first. */
export const HISTORY = script(
  'configs.history',
  ['no-writes'],
  `
return redis.call('LRANGE', KEYS[1], ARGV[3], int(ARGV[3] + ARGV[2] - 1))
`,
)

/**
 * ARGV: the furthest leap, then per item id, the generation to be above. A batch acts in order. Returns per item
 * { generation as text, conn or false }, 'not_found' or 'too_far'. Runs at the memory limit: it replaces a number.
 */
export const RAISE = script(
  'configs.raise',
  ['allow-oom'],
  `
${REGISTRY}
local ids = {}
for i = 3, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local gens, conns = redis.call('HMGET', g, unpack(ids)), redis.call('HMGET', conn, unpack(ids))
local results, raised, changes = {}, {}, {}
for i, id in ipairs(ids) do
  local gen, wanted = raised[id] or tonumber(gens[i] or -1), ARGV[2 * i + 2] + 1
  if gen < 0 then
    results[i] = 'not_found'
  elseif wanted - gen > tonumber(ARGV[2]) then
    results[i] = 'too_far'
  else
    raised[id] = math.max(gen, wanted)
    if wanted > gen then
      changes[#changes + 1] = id
      changes[#changes + 1] = int(wanted)
    end
    results[i] = { int(raised[id]), conns[i] }
  end
end
if #changes > 0 then redis.call('HSET', g, unpack(changes)) end
return results
`,
)
