/**
 * @module storage/redis/tasks-inspect
 * What can be seen of the tasks that are not dead, without moving any.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import { BODIES_AT_ONCE, PENDING, READS, listOf, readTicket, run, taskScript } from './tasks-layout.ts'
import type { Counts, Place, QueueRow } from '../index.ts'
import type { Caller } from './caller.ts'

const PLACES: readonly (Place | null)[] = [null, 'pending', 'in_flight', 'scheduled', 'dead']

/** ARGV: ids. Answers an index of PLACES each. Whether a body is there is asked of those alone that are nowhere else, a few at a time: it may be large. */
const LOCATE = taskScript(
  'locate',
  ['no-writes'],
  ['t', 'l', 's', 'dm'],
  `
local ids = { unpack(ARGV, 2) }
local leases, scheduled, dead = fetch(L, ids), call('SMISMEMBER', S, unpack(ids)), fetch(DM, ids)
local answers, others = {}, {}
for i = 1, #ids do
  answers[i] = (dead[i] and 4) or (leases[i] and 2) or (scheduled[i] == 1 and 3) or 0
  if answers[i] == 0 then others[#others + 1] = i end
end
for from = 1, #others, ${BODIES_AT_ONCE} do
  local part = {}
  for i = from, math.min(from + ${BODIES_AT_ONCE - 1}, #others) do part[#part + 1] = ids[others[i]] end
  for i, body in ipairs(call('HMGET', T, unpack(part))) do answers[others[from + i - 1]] = body and 1 or 0 end
end
return answers
`,
)

/** ARGV: n. Answers the length, then ticket and body of each that fits into an answer. */
const SHOW = taskScript(
  'queue',
  ['no-writes'],
  [...PENDING, 't'],
  `
local n, total, full, length = tonumber(ARGV[2]), 0, false, 0
local tickets, ids = {}, {}
for _, tier in ipairs({ P0, P1, P2 }) do
  length = length + call('LLEN', tier)
  local line = #tickets < n and not full and call('LRANGE', tier, 0, n - #tickets - 1) or {}
  for i = 1, #line do
    local bytes, id = match(line[i], '^%d+|(%d+)|[%d|]*:(.*)$')
    if id then
      total = total + bytes + #id
      full = total > ${MAX_ANSWER_BYTES} and #ids > 0
      if full then break end
      tickets[#tickets + 1] = line[i]
      ids[#ids + 1] = id
    end
  end
end
local bodies, reply = fetch(T, ids), { length }
for i = 1, #ids do
  reply[2 * i] = tickets[i]
  reply[2 * i + 1] = bodies[i]
end
return reply
`,
)

/** Answers the lengths of the places, the running totals, then the tickets next in line. */
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

export async function locate(caller: Caller, type: string, ids: readonly string[]): Promise<readonly (Place | null)[]> {
  const answers = listOf(await run(caller, LOCATE, type, ids, READS))
  return ids.map((_, i) => PLACES[Number(answers[i])] ?? null)
}

export async function queue(
  caller: Caller,
  type: string,
  n: number,
): Promise<{ readonly length: number; readonly items: readonly QueueRow[] }> {
  const [length, ...found] = listOf(await run(caller, SHOW, type, [n], READS))
  const items: QueueRow[] = []
  for (let i = 0; i < found.length; i += 2) {
    const { id, attempt } = readTicket(String(found[i]))
    const body = found[i + 1]
    if (typeof body === 'string') items.push({ id, attempt, body })
  }
  return { length: Number(length), items }
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
    oldest: next.length === 0 ? null : Math.min(...next),
    totals: { submitted, acked, nacked, died },
  }
}
