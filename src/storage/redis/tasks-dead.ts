/**
 * @module storage/redis/tasks-dead
 * The dead-letter queue: seen, played again, removed. Oldest death first.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import { PENDING, QUEUE, READS, REVIVE, TICKET, listOf, readTicket, run, taskScript } from './tasks-layout.ts'
import type { DeadRow } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

/** ARGV: n. Answers how many there are, then epitaph and body of each that fits into an answer. */
const DEAD = taskScript(
  'dead',
  ['no-writes'],
  ['dz', 'dt', 'dm'],
  `
local ids = call('ZRANGE', DZ, 0, ARGV[2] - 1)
local epitaphs, shown, shown_ids, total = fetch(DM, ids), {}, {}, 0
for i = 1, #ids do
  local epitaph = epitaphs[i]
  if epitaph then
    total = total + #epitaph + match(epitaph, '^%d+:%d+:%d+:%d+|(%d+)')
    if total > ${MAX_ANSWER_BYTES} and #shown > 0 then break end
    shown[#shown + 1], shown_ids[#shown + 1] = epitaph, ids[i]
  end
end
local bodies, reply = fetch(DT, shown_ids), { call('ZCARD', DZ) }
for i = 1, #shown do
  reply[2 * i] = shown[i]
  reply[2 * i + 1] = bodies[i]
end
return reply
`,
)

/** ARGV: channel, type, n. Answers how many. */
const REPLAY = taskScript(
  'replay',
  ['allow-oom'],
  [...PENDING, 't', 'dz', 'dt', 'dm'],
  `${TICKET}${QUEUE}${REVIVE}
local ids = call('ZRANGE', DZ, 0, ARGV[4] - 1)
local n = revive(ids, fetch(DM, ids))
wake()
return n
`,
)

/** ARGV: channel, type, action, then ids. Answers 1 where the task was dead, else 0. */
const SELECT = taskScript(
  'select',
  ['allow-oom'],
  [...PENDING, 't', 'dz', 'dt', 'dm'],
  `${TICKET}${QUEUE}${REVIVE}
local named = { unpack(ARGV, 5) }
local epitaphs = fetch(DM, named)
local answers, ids, theirs, seen = {}, {}, {}, {}
for i = 1, #named do
  local id = named[i]
  local found = epitaphs[i] and not seen[id]
  answers[i] = found and 1 or 0
  if found then
    seen[id] = true
    ids[#ids + 1] = id
    theirs[#theirs + 1] = epitaphs[i]
  end
end
if ARGV[4] == 'replay' then
  revive(ids, theirs)
  wake()
else
  write('HDEL', DT, ids)
  unbury(ids)
end
return answers
`,
)

/** Freed by Redis in the background, however many they are. */
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
): Promise<{ readonly length: number; readonly items: readonly DeadRow[] }> {
  const [length, ...found] = listOf(await run(caller, DEAD, type, [n], READS))
  const items: DeadRow[] = []
  for (let i = 0; i < found.length; i += 2) items.push(rowOf(found[i] ?? '', found[i + 1] ?? ''))
  return { length: Number(length), items }
}

/** The length in an epitaph is one of bytes. */
function rowOf(epitaph: Reply, body: Reply): DeadRow {
  const bytes = Buffer.from(String(epitaph))
  const [head = '', died, max, length] = /^(\d+):(\d+):(\d+):/.exec(String(epitaph)) ?? []
  const end = head.length + Number(length)
  const { id, attempt } = readTicket(bytes.toString('utf8', head.length, end))
  return {
    id,
    attempt,
    maxAttempts: Number(max),
    lastError: bytes.toString('utf8', end),
    diedAt: Number(died),
    body: String(body),
  }
}

export const replay = async (caller: Caller, type: string, n: number): Promise<number> =>
  Number(await run(caller, REPLAY, type, [caller.channel('wake'), type, n]))

export const clearDead = async (caller: Caller, type: string): Promise<number> =>
  Number(await run(caller, CLEAR, type, []))

export async function select(
  caller: Caller,
  type: string,
  action: 'replay' | 'remove',
  ids: readonly string[],
): Promise<readonly ('replayed' | 'removed' | 'not_dead')[]> {
  const answers = listOf(await run(caller, SELECT, type, [caller.channel('wake'), type, action, ...ids]))
  const done = action === 'replay' ? 'replayed' : 'removed'
  return ids.map((_, i) => (answers[i] === 1 ? done : 'not_dead'))
}
