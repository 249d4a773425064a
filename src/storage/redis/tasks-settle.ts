/**
 * @module storage/redis/tasks-settle
 * The ends of a lease, and its prolongation. Each of them reads the leases of the batch at once and counts only where the
 * token is the one the lease was issued with; an item named twice is settled once.
 */
import {
  ACKED,
  BURY,
  LEASE,
  LOST,
  PENDING,
  QUEUE,
  READS,
  SEGMENT,
  TICKET,
  listOf,
  run,
  taskScript,
} from './tasks-layout.ts'
import type { LeaseLost, LeaseRef, Nack, RetryPolicy } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

type Settled = 'ok' | LeaseLost

/**
 * Tokens that were acknowledged stay known, a bit each, for as long as their segment has a bitmap (D24). Tokens that
 * follow one another, as those of one reserve do, are set up to 32 at a time.
 * ARGV: id, token of each. Answers nil where all are ok, else 1, or what LOST says, each.
 */
const ACK = taskScript(
  'ack',
  ['allow-oom'],
  ['t', 'v', 'l', 'm', ...ACKED],
  `${LEASE}${LOST}
local ids, n = {}, (#ARGV - 1) / 2
for i = 1, n do ids[i] = ARGV[2 * i] end
local records, segments = fetch(L, ids), call('HMGET', M, 's0', 's1', 's2', 's3', 'f', 'u', 'b')
local bitmaps, slot_of = { K0, K1, K2, K3 }, {}
for slot = 1, 4 do if segments[slot] then slot_of[tonumber(segments[slot])] = slot end end

local answers, lost, gone, acked = {}, false, {}, {}
local sets, run_slot, run_from, run_length = { {}, {}, {}, {} }, nil, 0, 0
local function end_run()
  if run_length == 0 or not run_slot then return end
  local set = sets[run_slot]
  local at = #set
  set[at + 1], set[at + 2], set[at + 3], set[at + 4] = 'SET', 'u' .. run_length, run_from % ${SEGMENT}, 2 ^ run_length - 1
end
for i = 1, n do
  local id, token = ids[i], ARGV[2 * i + 1]
  local number = tonumber(token)
  local slot = slot_of[floor(number / ${SEGMENT})]
  if not acked[token] and is_held(records[i], token) then
    answers[i], acked[token] = 1, true
    gone[#gone + 1] = id
    if slot == run_slot and number == run_from + run_length and run_length < 32 then
      run_length = run_length + 1
    else
      end_run()
      run_slot, run_from, run_length = slot, number, 1
    end
  elseif acked[token] or (slot and call('GETBIT', bitmaps[slot], number % ${SEGMENT}) == 1) then
    answers[i] = 1
  else
    answers[i], lost = lost_code(number, segments[5], segments[6], segments[7]), true
  end
end
if #gone > 0 then
  end_run()
  for slot = 1, 4 do write('BITFIELD', bitmaps[slot], sets[slot]) end
  write('HDEL', T, gone)
  write('HDEL', L, gone)
  write('ZREM', V, gone)
  call('HINCRBY', M, 'acked', #gone)
end
return lost and answers
`,
)

/** To the front of the tiers, the first of them foremost. ARGV: channel, type, then id, token of each. Answers as ACK. */
const RELEASE = taskScript(
  'release',
  ['allow-oom'],
  [...PENDING, 'v', 'l', 'm'],
  `${LEASE}${LOST}${QUEUE}
local ids, n = {}, (#ARGV - 3) / 2
for i = 1, n do ids[i] = ARGV[2 * i + 2] end
local records = fetch(L, ids)
local answers, lost, back, tiers, settled = {}, false, {}, { {}, {}, {} }, {}
for i = 1, n do
  local id = ids[i]
  if not settled[id] and is_held(records[i], ARGV[2 * i + 3]) then
    answers[i], settled[id] = 1, true
    back[#back + 1] = id
    local _, ticket = read_lease(records[i])
    table.insert(tiers[match(ticket, '^%d+|%d+|%d*|(%d)') + 1], ticket)
  else
    answers[i], lost = 0, true
  end
end
tell_lost(answers, function(i) return ARGV[2 * i + 3] end)
if #back > 0 then
  push_front(tiers)
  write('HDEL', L, back)
  write('ZREM', V, back)
  wake()
end
return lost and answers
`,
)

/**
 * ARGV: base, factor, cap of the delay, then id, token, error, delay or '', '1' where permanent, jitter of each.
 * Answers 1 scheduled, 2 dead, or what LOST says, each.
 */
const NACK = taskScript(
  'nack',
  ['allow-oom'],
  ['t', 'v', 'l', 'd', 's', 'dz', 'dt', 'dm', 'm'],
  `${TICKET}${LEASE}${LOST}${BURY}
local base, factor, cap = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ids, n = {}, (#ARGV - 4) / 6
for i = 1, n do ids[i] = ARGV[6 * i - 1] end
local records = fetch(L, ids)
local answers, ended, settled, dead, due, scheduled = {}, {}, {}, {}, {}, {}
for i = 1, n do
  local id, at = ids[i], 6 * i - 1
  if settled[id] or not is_held(records[i], ARGV[at + 1]) then
    answers[i] = 0
  else
    settled[id] = true
    ended[#ended + 1] = id
    local max, ticket = read_lease(records[i])
    local t = read_ticket(ticket)
    if t.max ~= '' then max = t.max end
    local delay = tonumber(ARGV[at + 3]) or floor(ARGV[at + 5] * math.min(cap, base * math.min(factor ^ t.attempt, 1.7976931348623157e308)))
    t.attempt = t.attempt + 1
    if ARGV[at + 4] == '1' or t.attempt >= tonumber(max) then
      answers[i] = 2
      dead[#dead + 1] = { id = id, max = max, ticket = write_ticket(t), error = ARGV[at + 2] }
    else
      answers[i] = 1
      due[#due + 1] = now + delay
      due[#due + 1] = write_ticket(t)
      scheduled[#scheduled + 1] = id
    end
  end
end
tell_lost(answers, function(i) return ARGV[6 * i] end)
if #ended > 0 then
  bury(dead)
  write('ZADD', D, due)
  write('SADD', S, scheduled)
  write('HDEL', L, ended)
  write('ZREM', V, ended)
  call('HINCRBY', M, 'nacked', #ended)
end
return answers
`,
)

/** ARGV: id, token, visibility ms of each. Answers the deadline, or what LOST says, each. */
const EXTEND = taskScript(
  'extend',
  ['allow-oom'],
  ['v', 'l', 'm'],
  `${LEASE}${LOST}
local ids, n = {}, (#ARGV - 1) / 3
for i = 1, n do ids[i] = ARGV[3 * i - 1] end
local records, deadlines = fetch(L, ids), call('ZMSCORE', V, unpack(ids))
local answers, moved, later = {}, {}, {}
for i = 1, n do
  local id = ids[i]
  answers[i] = 0
  if is_held(records[i], ARGV[3 * i]) then
    local old, till = later[id] or tonumber(deadlines[i]), now + ARGV[3 * i + 1]
    if till > old then
      later[id] = till
      moved[#moved + 1] = till
      moved[#moved + 1] = id
    end
    answers[i] = math.max(old, till)
  end
end
tell_lost(answers, function(i) return ARGV[3 * i] end)
write('ZADD', V, moved)
return answers
`,
)

const lostOf = (answer: Reply | undefined): LeaseLost | null =>
  answer === 0 ? 'lease_lost' : answer === -1 ? 'not_issued' : null
const pairsOf = (leases: readonly LeaseRef[]): (string | number)[] => leases.flatMap(({ id, token }) => [id, token])

export async function ack(caller: Caller, type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
  const answers = listOf(await run(caller, ACK, type, pairsOf(leases), READS))
  return leases.map((_, i) => lostOf(answers[i]) ?? 'ok')
}

export async function release(caller: Caller, type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
  const answers = listOf(await run(caller, RELEASE, type, [caller.channel('wake'), type, ...pairsOf(leases)]))
  return leases.map((_, i) => lostOf(answers[i]) ?? 'ok')
}

/** The errors are cut already. */
export async function nack(
  caller: Caller,
  type: string,
  retry: RetryPolicy,
  items: readonly Nack[],
): Promise<readonly ('scheduled' | 'dead' | LeaseLost)[]> {
  const args = items.flatMap(({ id, token, error, retryInMs, permanent, u }) => [
    id,
    token,
    error,
    retryInMs ?? '',
    permanent ? '1' : '0',
    u,
  ])
  const answers = listOf(await run(caller, NACK, type, [retry.baseMs, retry.factor, retry.capMs, ...args]))
  return items.map((_, i) => lostOf(answers[i]) ?? (answers[i] === 2 ? 'dead' : 'scheduled'))
}

export async function extend(
  caller: Caller,
  type: string,
  items: readonly (LeaseRef & { readonly visibilityMs: number })[],
): Promise<readonly ({ readonly until: number } | LeaseLost)[]> {
  const answers = listOf(
    await run(
      caller,
      EXTEND,
      type,
      items.flatMap(({ id, token, visibilityMs }) => [id, token, visibilityMs]),
      READS,
    ),
  )
  return items.map((_, i) => lostOf(answers[i]) ?? { until: Number(answers[i]) })
}
