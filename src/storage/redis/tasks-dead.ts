/**
 * @module storage/redis/tasks-dead
 * The dead-letter queue: seen, played again, removed. Oldest death first.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import {
  BODIES_PER_READ,
  PENDING,
  QUEUE,
  READS,
  REPLAY_DEAD,
  TICKET,
  listOf,
  readTicket,
  run,
  taskScript,
} from './tasks-layout.ts'
import type { DeadPage, DeadRow } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

/**
 * ARGV: n, bytes, the number of the death to begin behind. Returns how many there are, where the next call begins or
 * false, then dead_record and body of each that fits. Dead records are read a few at a time: each may be 4 KiB and
 * more.
 */
const DEAD = taskScript(
  'dead',
  ['no-writes'],
  ['dz', 'dt', 'dm'],
  `
local n, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = call('ZRANGE', DZ, '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, n + 1, 'WITHSCORES')
local seen, shown, shown_ids, total, full = 0, {}, {}, 0, false
while not full and seen < math.min(n, #found / 2) do
  local part = {}
  for i = seen + 1, math.min(seen + ${BODIES_PER_READ}, n, #found / 2) do part[#part + 1] = found[2 * i - 1] end
  local dead_records = fetch(DM, part)
  for i = 1, #part do
    local dead_record = dead_records[i]
    local bytes = dead_record and #dead_record + match(dead_record, '^%d+:%d+:%d+:%d+|(%d+)') or 0
    full = total + bytes > limit and #shown > 0
    if full then break end
    total, seen = total + bytes, seen + 1
    if dead_record then shown[#shown + 1], shown_ids[#shown_ids + 1] = dead_record, part[i] end
  end
end
local bodies, reply = fetch(DT, shown_ids), { call('ZCARD', DZ), full and int(found[2 * seen]) or false }
for i = 1, #shown do
  reply[2 * i + 1] = shown[i]
  reply[2 * i + 2] = bodies[i]
end
return reply
`,
)

/** ARGV: channel, type, n, the largest death number or +inf. Returns how many. */
const REPLAY = taskScript(
  'replay',
  ['allow-oom'],
  [...PENDING, 't', 'dz', 'dt', 'dm'],
  `${TICKET}${QUEUE}${REPLAY_DEAD}
local ids = call('ZRANGE', DZ, '-inf', ARGV[5], 'BYSCORE', 'LIMIT', 0, ARGV[4])
local n = replay_dead(ids, fetch(DM, ids))
wake()
return n
`,
)

/** Returns the number of the newest death. */
const LAST_DEATH = taskScript(
  'lastDeath',
  ['no-writes'],
  ['dz'],
  `
return tonumber(call('ZRANGE', DZ, 0, 0, 'REV', 'WITHSCORES')[2] or 0)
`,
)

/** ARGV: channel, type, action, then ids. Returns 1 where the task was dead, else 0. */
const SELECT = taskScript(
  'select',
  ['allow-oom'],
  [...PENDING, 't', 'dz', 'dt', 'dm'],
  `${TICKET}${QUEUE}${REPLAY_DEAD}
local named = { unpack(ARGV, 5) }
local dead_records = fetch(DM, named)
local results, ids, theirs, seen = {}, {}, {}, {}
for i = 1, #named do
  local id = named[i]
  local found = dead_records[i] and not seen[id]
  results[i] = found and 1 or 0
  if found then
    seen[id] = true
    ids[#ids + 1] = id
    theirs[#theirs + 1] = dead_records[i]
  end
end
if ARGV[4] == 'replay' then
  replay_dead(ids, theirs)
  wake()
else
  write('HDEL', DT, ids)
  remove_dead(ids)
end
return results
`,
)

/** Moves no body through Lua: Redis frees the keys in the background, however large they are. */
const CLEAR = taskScript(
  'clearDead',
  ['allow-oom'],
  ['dz', 'dt', 'dm'],
  `
local n = call('HLEN', DT)
call('UNLINK', DZ, DT, DM)
return n
`,
)

export async function dead(
  caller: Caller,
  type: string,
  n: number,
  bytes = MAX_ANSWER_BYTES,
  after = 0,
): Promise<DeadPage> {
  const [length, next, ...found] = listOf(await run(caller, DEAD, type, [n, bytes, after], READS))
  const items: DeadRow[] = []
  for (let i = 0; i < found.length; i += 2) items.push(rowOf(found[i] ?? '', found[i + 1] ?? ''))
  return { length: Number(length), items, ...(typeof next === 'string' && { next: Number(next) }) }
}

/** The length in a dead record counts bytes. */
function rowOf(deadRecord: Reply, body: Reply): DeadRow {
  const bytes = Buffer.from(String(deadRecord))
  const [head = '', died, max, length] = /^(\d+):(\d+):(\d+):/.exec(String(deadRecord)) ?? []
  const end = head.length + Number(length)
  const { id, attempt } = readTicket(bytes.toString('utf8', head.length, end))
  return {
    id,
    attempt,
    maxAttempts: Number(max),
    lastError: bytes.toString('utf8', end),
    diedAtMs: Number(died),
    body: String(body),
  }
}

export const replay = async (
  caller: Caller,
  type: string,
  n: number,
  until: number | string = '+inf',
): Promise<number> => Number(await run(caller, REPLAY, type, [caller.channel('wake'), type, n, until]))

export const lastDeath = async (caller: Caller, type: string): Promise<number> =>
  Number(await run(caller, LAST_DEATH, type, [], READS))

export const clearDead = async (caller: Caller, type: string): Promise<number> =>
  Number(await run(caller, CLEAR, type, []))

export async function select(
  caller: Caller,
  type: string,
  action: 'replay' | 'remove',
  ids: readonly string[],
): Promise<readonly ('replayed' | 'removed' | 'not_dead')[]> {
  const results = listOf(await run(caller, SELECT, type, [caller.channel('wake'), type, action, ...ids]))
  const done = action === 'replay' ? 'replayed' : 'removed'
  return ids.map((_, i) => (results[i] === 1 ? done : 'not_dead'))
}
