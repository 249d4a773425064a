/**
 * @module storage/redis/tasks-reserve
 * Leases the tasks next in line. As many tickets are read as are wanted, and more where some of them outlived their
 * ttl; what was leased or dropped is cut off the tiers in the end.
 *
 * Whether a worker may have tasks is read from the registry, which shares the hash tag, in the same step: a drain that
 * was answered, by whichever master, is seen by every reserve after it (G14).
 *
 * Tokens: `f` counts them. A counter that is new, or was drawn in another life of the store, first rises to a multiple
 * of 2^20 at or above now · 1,024, so no token comes twice even where the store lost its last writes. Each multiple
 * begins a segment; a batch that would cross into the next one starts there, so its tokens share a segment. The segment
 * that begins takes over the bitmap of the oldest.
 *
 * A reserve whose answer was lost leased tasks that no worker received. The repetition, or else the next reserve of the
 * slot, gives these leases back first, attempt and lost leases unchanged (D81); so they never count towards the DLQ.
 */
import { MAX_RESERVED_PER_CALL, MAX_RESERVE_BYTES } from '../../protocol/index.ts'
import { FENCE } from './fence.ts'
import {
  ACKED,
  CALLS,
  LEASE,
  PENDING,
  PROMOTE,
  QUEUE,
  READS,
  listOf,
  readTicket,
  run,
  taskScript,
} from './tasks-layout.ts'
import type { Lease, ReserveRefusal, ReserveResult, ReserveRequest } from '../index.ts'
import type { CallSlots } from './call-slots.ts'
import type { Caller, Reply } from './caller.ts'

/** Tasks one reserve drops because they outlived their ttl, and retries it promotes. */
const MAX_DROPS = 1_000
const MAX_PROMOTED = 1_000
/** Tickets looked at together after some were dropped. */
const REFILL = 100

/** Arguments before the slot of the call. */
const HEAD = 4

const REFUSALS: Readonly<Record<string, ReserveRefusal>> = { u: 'unknown', d: 'draining', s: 'stale' }

/**
 * ARGV: channel, type, visibility ms, run id, slot and number of the call, the number from which on results of the slot
 * were lost, then worker, limit, generation, default max attempts of each request.
 * Returns until, the token before the first one, how many were dropped, when the next retry is due or nil, one letter a
 * request (of REFUSALS, or o), then ticket and body of each lease; the requests that are not refused fill up in order.
 */
const RESERVE = taskScript(
  'reserve',
  ['allow-oom'],
  [...PENDING, ...ACKED, 't', 'v', 'l', 'd', 's', 'm', 'r', 'g', 'dr'],
  `${FENCE}${LEASE}${QUEUE}${PROMOTE}${CALLS}
local slot, number = ARGV[6], tonumber(ARGV[7])
local last = call('HGET', R, slot)
local evicted = not last and evicted_from(R)
local function give_back(before, lost)
  local records, back, tiers = fetch(L, lost), {}, { {}, {}, {} }
  for i = 1, #lost do
    if is_held(records[i], int(before + i)) then
      local _, ticket = read_lease(records[i])
      back[#back + 1] = lost[i]
      table.insert(tiers[match(ticket, '^%d+|%d+|%d*|(%d)') + 1], ticket)
    end
  end
  push_front(tiers)
  write('HDEL', L, back)
  write('ZREM', V, back)
end
if last then
  local of, before, lost = match(last, '^(%d+):%d+:(%d+):(.*)$')
  if tonumber(of) > number then return redis.error_reply('OVERTAKEN a later call of this slot was carried out') end
  if tonumber(of) >= tonumber(ARGV[8]) then give_back(tonumber(before), cjson.decode(lost)) end
end
local workers = {}
for i = 9, #ARGV, 4 do workers[#workers + 1] = ARGV[i] end
local gens, drains = fetch(G, workers), fetch(DR, workers)
local limits, letters, wanted = {}, {}, 0
for k = 1, #workers do
  local at = 5 + 4 * k
  local letter = (not gens[k] and 'u') or (drains[k] and 'd') or (gens[k] ~= ARGV[at + 2] and 's') or 'o'
  letters[k], limits[k] = letter, letter == 'o' and tonumber(ARGV[at + 1]) or 0
  wanted = wanted + limits[k]
end
letters = table.concat(letters)
wanted = math.min(wanted, ${MAX_RESERVED_PER_CALL})
local promoted, next_due = promote(${MAX_PROMOTED})

local tickets, ids, n, outlived, drops, room, full = {}, {}, 0, {}, 0, nil, false
local cuts = { 0, 0, 0 }
for t = 1, 3 do
  local count = wanted - n
  while count > 0 and not full do
    local line = call('LRANGE', TIERS[t], cuts[t], cuts[t] + count - 1)
    for i = 1, #line do
      if n == wanted then full = true break end
      local ticket = line[i]
      local colon = find(ticket, ':', 1, true)
      local id, over, size = colon and sub(ticket, colon + 1), not colon, nil
      if colon and byte(ticket, colon - 1) ~= 48 then
        local bytes, expires = match(ticket, '^%d+|(%d+)|(%d*)')
        size = tonumber(bytes)
        over = not bytes or (expires ~= '' and tonumber(expires) <= now)
      end
      if over then
        if drops == ${MAX_DROPS} then full = true break end
        drops = drops + 1
        outlived[#outlived + 1] = id or nil
      else
        if room and size and size > room then full = true break end
        room = (room or ${MAX_RESERVE_BYTES}) - (size or 0)
        n = n + 1
        ids[n], tickets[n] = id, ticket
      end
      cuts[t] = cuts[t] + 1
    end
    if #line < count then break end
    count = wanted - n
    if count > 0 then count = math.max(count, ${REFILL}) end
  end
end

local function cut(before, leased)
  if evicted then call('HDEL', R, evicted) end
  call('HSET', R, slot, ARGV[7] .. ':' .. int(now) .. ':' .. int(before) .. ':' .. cjson.encode(leased))
  for t = 1, 3 do
    if cuts[t] > 0 then call('LTRIM', TIERS[t], cuts[t], -1) end
  end
  write('HDEL', T, outlived)
  if full or n == wanted then wake() end
end
if n == 0 then
  cut(0, {})
  return { 0, 0, drops, next_due or false, letters }
end

local bodies, m = fetch(T, ids), call('HMGET', M, 'f', 'run', 'n')
local first = newest(m[1], m[2], ARGV[5])
if floor((first + n) / SEGMENT) > floor(first / SEGMENT) then first = math.ceil((first + 1) / SEGMENT) * SEGMENT end
local deadline = int(now + ARGV[4])
local deadlines, leases, leased, reply, live = {}, {}, {}, { tonumber(deadline), first, 0, next_due or false, letters }, 0
local k, left, stem = 0, 0, nil
for i = 1, n do
  if bodies[i] then
    while left == 0 do
      k = k + 1
      left = limits[k]
      stem = ':' .. ARGV[8 + 4 * k] .. ':' .. #workers[k] .. ':' .. workers[k]
    end
    left = left - 1
    local id, ticket, odd = ids[i], tickets[i], 2 * live + 1
    live = live + 1
    leased[live] = id
    deadlines[odd], deadlines[odd + 1] = deadline, id
    leases[odd], leases[odd + 1] = id, int(first + live) .. stem .. ticket
    reply[odd + 5], reply[odd + 6] = ticket, bodies[i]
  end
end
reply[3] = drops + n - live

if first == tonumber(m[1]) then
  call('HSET', M, 'f', int(first + n))
else
  local begun = (tonumber(m[3]) or 0) + 1
  call('UNLINK', ({ K0, K1, K2, K3 })[begun % 4 + 1])
  local skipped = m[1] and { 'u', m[1], 'b', int(first) } or {}
  call('HSET', M, 'f', int(first + n), 'run', ARGV[5], 'n', begun, 's' .. begun % 4, int(first / SEGMENT), unpack(skipped))
end
write('HSET', L, leases)
write('ZADD', V, deadlines)
cut(first, leased)
return reply
`,
)

export async function reserve(
  caller: Caller,
  calls: CallSlots,
  type: string,
  visibilityMs: number,
  requests: readonly ReserveRequest[],
): Promise<ReserveResult> {
  const args: (string | number)[] = [caller.channel('wake'), type, visibilityMs, caller.runId(), '', 0, 0]
  for (const { worker, limit, gen, defaultMaxAttempts } of requests) args.push(worker, limit, gen, defaultMaxAttempts)
  const [until, before, dropped, nextDue, letters, ...found] = listOf(
    await calls.take(type, ({ slot, number, lostFrom }) => {
      args.splice(HEAD, 3, slot, number, lostFrom)
      return run(caller, RESERVE, type, args, READS)
    }),
  )
  let taken = 0
  const results = requests.map(({ limit, defaultMaxAttempts }, i) => {
    const refused = REFUSALS[String(letters).charAt(i)]
    if (refused !== undefined) return refused
    const first = taken
    taken = Math.min(first + limit, found.length / 2)
    return Array.from({ length: taken - first }, (_, n): Lease =>
      leaseOf(found, first + n, Number(before), Number(until), defaultMaxAttempts),
    )
  })
  return {
    results,
    dropped: Number(dropped),
    nextDueAtMs: nextDue === null || nextDue === undefined ? null : Number(nextDue),
  }
}

function leaseOf(found: readonly Reply[], i: number, before: number, until: number, defaultMaxAttempts: number): Lease {
  const { id, attempt, ownMax } = readTicket(String(found[2 * i]))
  return {
    id,
    token: before + i + 1,
    attempt,
    maxAttempts: ownMax ?? defaultMaxAttempts,
    expiresAtMs: until,
    body: String(found[2 * i + 1]),
  }
}
