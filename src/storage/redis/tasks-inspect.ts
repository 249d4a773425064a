/**
 * @module storage/redis/tasks-inspect
 * What can be seen of the tasks that are not dead, without moving any.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import { BODIES_PER_READ, PENDING, READS, listOf, readTicket, run, taskScript } from './tasks-layout.ts'
import type { Counts, TaskPlace, QueuePage, QueueRow, QueueTicket } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

const PLACES: readonly (TaskPlace | null)[] = [null, 'pending', 'in_flight', 'scheduled', 'dead']

/**
 * ARGV: ids. Returns an index of PLACES each. Whether a body is there is asked of those alone that are nowhere else, a
 * few at a time: it may be large.
 */
const LOCATE = taskScript(
  'locate',
  ['no-writes'],
  ['t', 'l', 's', 'dm'],
  `
local ids = { unpack(ARGV, 2) }
local leases, scheduled, dead = fetch(L, ids), call('SMISMEMBER', S, unpack(ids)), fetch(DM, ids)
local results, others = {}, {}
for i = 1, #ids do
  results[i] = (dead[i] and 4) or (leases[i] and 2) or (scheduled[i] == 1 and 3) or 0
  if results[i] == 0 then others[#others + 1] = i end
end
for from = 1, #others, ${BODIES_PER_READ} do
  local part = {}
  for i = from, math.min(from + ${BODIES_PER_READ - 1}, #others) do part[#part + 1] = ids[others[i]] end
  for i, body in ipairs(call('HMGET', T, unpack(part))) do results[others[from + i - 1]] = body and 1 or 0 end
end
return results
`,
)

/** ARGV: n, bytes. Returns the length, the tickets, and the bodies of the first of them, as many as fit. */
const SHOW = taskScript(
  'queue',
  ['no-writes'],
  [...PENDING, 't'],
  `
local n, limit, total, full, length = tonumber(ARGV[2]), tonumber(ARGV[3]), 0, false, 0
local tickets, ids = {}, {}
for _, tier in ipairs({ P0, P1, P2 }) do
  length = length + call('LLEN', tier)
  local line = #tickets < n and call('LRANGE', tier, 0, n - #tickets - 1) or {}
  for i = 1, #line do
    local bytes, id = match(line[i], '^%d+|(%d+)|[%d|]*:(.*)$')
    if id then
      tickets[#tickets + 1] = line[i]
      total = total + bytes + #id
      full = full or (total > limit and #ids > 0)
      if not full then ids[#ids + 1] = id end
    end
  end
end
return { length, tickets, fetch(T, ids) }
`,
)

/** ARGV: bytes, ids. Returns the bodies of the first of them, as many as fit, one at least. */
const BODIES = taskScript(
  'bodies',
  ['no-writes'],
  ['t'],
  `
local limit, total, ids = tonumber(ARGV[2]), 0, {}
for i = 3, #ARGV do
  total = total + call('HSTRLEN', T, ARGV[i])
  if total > limit and #ids > 0 then break end
  ids[#ids + 1] = ARGV[i]
end
return fetch(T, ids)
`,
)

/** Returns the lengths of the places, the running totals, then the tickets next in line. */
const COUNTS = taskScript(
  'counts',
  ['no-writes'],
  [...PENDING, 'd', 'v', 'dz', 'm'],
  `
local reply = { call('LLEN', P0), call('LLEN', P1), call('LLEN', P2), call('ZCARD', D), call('ZCARD', V), call('ZCARD', DZ) }
for _, total in ipairs(call('HMGET', M, 'submitted', 'acked', 'nacked', 'died')) do reply[#reply + 1] = tonumber(total or 0) end
for i, tier in ipairs({ P0, P1, P2 }) do
  if reply[i] > 0 then reply[#reply + 1] = call('LINDEX', tier, 0) end
end
return reply
`,
)

export async function locate(
  caller: Caller,
  type: string,
  ids: readonly string[],
): Promise<readonly (TaskPlace | null)[]> {
  const results = listOf(await run(caller, LOCATE, type, ids, READS))
  return ids.map((_, i) => PLACES[Number(results[i])] ?? null)
}

export async function queue(caller: Caller, type: string, n: number, bytes = MAX_ANSWER_BYTES): Promise<QueuePage> {
  const [length, tickets, shown] = (await run(caller, SHOW, type, [n, bytes], READS)) as readonly [
    number,
    readonly string[],
    readonly Reply[],
  ]
  const items: QueueRow[] = []
  const rest: QueueTicket[] = []
  for (const [i, ticket] of tickets.entries()) {
    const { id, attempt } = readTicket(ticket)
    const body = shown[i]
    if (i >= shown.length) rest.push({ id, attempt })
    else if (typeof body === 'string') items.push({ id, attempt, body })
  }
  return { length, items, ...(rest.length > 0 && { rest }) }
}

export async function bodies(
  caller: Caller,
  type: string,
  ids: readonly string[],
  bytes = MAX_ANSWER_BYTES,
): Promise<readonly (string | null)[]> {
  return listOf(await run(caller, BODIES, type, [bytes, ...ids], READS)) as readonly (string | null)[]
}

/** One script a type: each has a hash tag of its own. */
export const counts = (caller: Caller, types: readonly string[]): Promise<readonly Counts[]> =>
  Promise.all(types.map((type) => countsOf(caller, type)))

async function countsOf(caller: Caller, type: string): Promise<Counts> {
  const reply = listOf(await run(caller, COUNTS, type, [], READS))
  const [
    high = 0,
    normal = 0,
    low = 0,
    scheduled = 0,
    inFlight = 0,
    dead = 0,
    submitted = 0,
    acked = 0,
    nacked = 0,
    died = 0,
  ] = reply.slice(0, 10).map(Number)
  const next = reply.slice(10).map((ticket) => readTicket(String(ticket)).submitted)
  return {
    tiers: [high, normal, low],
    scheduled,
    inFlight,
    dead,
    oldestSubmittedAtMs: next.length === 0 ? null : Math.min(...next),
    totals: { submitted, acked, nacked, died },
  }
}
