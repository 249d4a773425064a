/**
 * @module storage/redis/tasks-settle
 * The ends of a lease, and its prolongation. Each of them reads the leases of the batch in one step and counts only
 * where the token is the one the lease was issued with; an item named twice is settled once.
 */
import {
  ACKED,
  ACKED_TASKS,
  MOVE_TO_DEAD,
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
import { fingerprintOf, type LeaseLost, type LeaseRef, type NackItem, type RetryPolicy } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

type Settled = 'ok' | LeaseLost

/**
 * Tokens that were acknowledged stay known with their tasks, for as long as their segment has a bitmap (D24, D80). Bits
 * of tokens that follow one another, as those of one reserve do, are set up to 32 at a time. The fingerprints of a slot
 * are begun anew here when the slot has got another segment: an older version recycles the bitmap alone. ARGV: id,
 * token, fingerprint of each. Returns nil where all are ok, else 1, or what LOST says, each.
 */
const ACK = taskScript(
  'ack',
  ['allow-oom'],
  ['t', 'v', 'l', 'm', ...ACKED, ...ACKED_TASKS],
  `${LEASE}${LOST}
local ids, n = {}, (#ARGV - 1) / 3
for i = 1, n do ids[i] = ARGV[3 * i - 1] end
local records, m = fetch(L, ids), call('HMGET', M, 's0', 's1', 's2', 's3', 't0', 't1', 't2', 't3', 'f', 'u', 'b')
local bitmaps, prints, slot_of = { K0, K1, K2, K3 }, { H0, H1, H2, H3 }, {}
for slot = 1, 4 do if m[slot] then slot_of[tonumber(m[slot])] = slot end end
local function is_acked(slot, number, print)
  if not slot or call('GETBIT', bitmaps[slot], number % ${SEGMENT}) == 0 then return false end
  local known = m[slot + 4] == m[slot] and call('BITFIELD', prints[slot], 'GET', 'u32', '#' .. number % ${SEGMENT})[1] or 0
  return known == 0 or known == print
end

local results, lost, gone, acked = {}, false, {}, {}
local sets, tasks, run_slot, run_from, run_length = { {}, {}, {}, {} }, { {}, {}, {}, {} }, nil, 0, 0
local function end_run()
  if run_length == 0 or not run_slot then return end
  local set = sets[run_slot]
  local at = #set
  set[at + 1], set[at + 2], set[at + 3], set[at + 4] = 'SET', 'u' .. run_length, run_from % ${SEGMENT}, 2 ^ run_length - 1
end
for i = 1, n do
  local id, token, print = ids[i], ARGV[3 * i], tonumber(ARGV[3 * i + 1])
  local number = tonumber(token)
  local slot = slot_of[floor(number / ${SEGMENT})]
  if not acked[token] and is_held(records[i], token) then
    results[i], acked[token] = 1, id
    gone[#gone + 1] = id
    if slot then
      local task = tasks[slot]
      local at = #task
      task[at + 1], task[at + 2], task[at + 3], task[at + 4] = 'SET', 'u32', '#' .. number % ${SEGMENT}, ARGV[3 * i + 1]
    end
    if slot == run_slot and number == run_from + run_length and run_length < 32 then
      run_length = run_length + 1
    else
      end_run()
      run_slot, run_from, run_length = slot, number, 1
    end
  elseif acked[token] == id or (not acked[token] and is_acked(slot, number, print)) then
    results[i] = 1
  else
    results[i], lost = lost_code(number, m[9], m[10], m[11]), true
  end
end
if #gone > 0 then
  end_run()
  for slot = 1, 4 do
    if #tasks[slot] > 0 and m[slot + 4] ~= m[slot] then
      call('UNLINK', prints[slot])
      call('HSET', M, 't' .. slot - 1, m[slot])
    end
    write('BITFIELD', prints[slot], tasks[slot])
    write('BITFIELD', bitmaps[slot], sets[slot])
  end
  write('HDEL', T, gone)
  write('HDEL', L, gone)
  write('ZREM', V, gone)
  call('HINCRBY', M, 'acked', #gone)
end
return lost and results
`,
)

/**
 * To the front of the tiers, the first of them foremost. ARGV: channel, type, then id, token of each. Returns as ACK.
 */
const RELEASE = taskScript(
  'release',
  ['allow-oom'],
  [...PENDING, 'v', 'l', 'm'],
  `${LEASE}${LOST}${QUEUE}
local ids, n = {}, (#ARGV - 3) / 2
for i = 1, n do ids[i] = ARGV[2 * i + 2] end
local records = fetch(L, ids)
local results, lost, back, tiers, settled = {}, false, {}, { {}, {}, {} }, {}
for i = 1, n do
  local id = ids[i]
  if not settled[id] and is_held(records[i], ARGV[2 * i + 3]) then
    results[i], settled[id] = 1, true
    back[#back + 1] = id
    local _, ticket = read_lease(records[i])
    table.insert(tiers[match(ticket, '^%d+|%d+|%d*|(%d)') + 1], ticket)
  else
    results[i], lost = 0, true
  end
end
tell_lost(results, function(i) return ARGV[2 * i + 3] end)
if #back > 0 then
  push_front(tiers)
  write('HDEL', L, back)
  write('ZREM', V, back)
  wake()
end
return lost and results
`,
)

/**
 * ARGV: base, factor, cap of the delay, then id, token, error, delay or '', '1' where permanent, jitter of each.
 * Returns 1 scheduled, 2 dead, or what LOST says, each.
 */
const NACK = taskScript(
  'nack',
  ['allow-oom'],
  ['t', 'v', 'l', 'd', 's', 'dz', 'dt', 'dm', 'm'],
  `${TICKET}${LEASE}${LOST}${MOVE_TO_DEAD}
local base, factor, cap = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ids, n = {}, (#ARGV - 4) / 6
for i = 1, n do ids[i] = ARGV[6 * i - 1] end
local records = fetch(L, ids)
local results, ended, settled, dead, due, scheduled = {}, {}, {}, {}, {}, {}
for i = 1, n do
  local id, at = ids[i], 6 * i - 1
  if settled[id] or not is_held(records[i], ARGV[at + 1]) then
    results[i] = 0
  else
    settled[id] = true
    ended[#ended + 1] = id
    local max, ticket = read_lease(records[i])
    local t = read_ticket(ticket)
    if t.max ~= '' then max = t.max end
    local delay = tonumber(ARGV[at + 3]) or floor(ARGV[at + 5] * math.min(cap, base * math.min(factor ^ t.attempt, 1.7976931348623157e308)))
    t.attempt = t.attempt + 1
    if ARGV[at + 4] == '1' or t.attempt >= tonumber(max) then
      results[i] = 2
      dead[#dead + 1] = { id = id, max = max, ticket = write_ticket(t), error = ARGV[at + 2] }
    else
      results[i] = 1
      due[#due + 1] = now + delay
      due[#due + 1] = write_ticket(t)
      scheduled[#scheduled + 1] = id
    end
  end
end
tell_lost(results, function(i) return ARGV[6 * i] end)
if #ended > 0 then
  move_to_dead(dead)
  write('ZADD', D, due)
  write('SADD', S, scheduled)
  write('HDEL', L, ended)
  write('ZREM', V, ended)
  call('HINCRBY', M, 'nacked', #ended)
end
return results
`,
)

/** ARGV: id, token, visibility ms of each. Returns the deadline, or what LOST says, each. */
const EXTEND = taskScript(
  'extend',
  ['allow-oom'],
  ['v', 'l', 'm'],
  `${LEASE}${LOST}
local ids, n = {}, (#ARGV - 1) / 3
for i = 1, n do ids[i] = ARGV[3 * i - 1] end
local records, deadlines = fetch(L, ids), call('ZMSCORE', V, unpack(ids))
local results, moved, later = {}, {}, {}
for i = 1, n do
  local id = ids[i]
  results[i] = 0
  if is_held(records[i], ARGV[3 * i]) then
    local old, till = later[id] or tonumber(deadlines[i]), now + ARGV[3 * i + 1]
    if till > old then
      later[id] = till
      moved[#moved + 1] = till
      moved[#moved + 1] = id
    end
    results[i] = math.max(old, till)
  end
end
tell_lost(results, function(i) return ARGV[3 * i] end)
write('ZADD', V, moved)
return results
`,
)

function lostOf(reply: Reply | undefined): LeaseLost | null {
  if (reply === 0) return 'lease_lost'
  return reply === -1 ? 'not_issued' : null
}

const pairsOf = (leases: readonly LeaseRef[]): (string | number)[] => leases.flatMap(({ id, token }) => [id, token])

export async function ack(caller: Caller, type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
  const results = listOf(
    await run(
      caller,
      ACK,
      type,
      leases.flatMap(({ id, token }) => [id, token, fingerprintOf(id)]),
      READS,
    ),
  )
  return leases.map((_, i) => lostOf(results[i]) ?? 'ok')
}

export async function release(caller: Caller, type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
  const results = listOf(await run(caller, RELEASE, type, [caller.channel('wake'), type, ...pairsOf(leases)]))
  return leases.map((_, i) => lostOf(results[i]) ?? 'ok')
}

/** The errors are cut already. */
export async function nack(
  caller: Caller,
  type: string,
  retry: RetryPolicy,
  items: readonly NackItem[],
): Promise<readonly ('scheduled' | 'dead' | LeaseLost)[]> {
  const args = items.flatMap(({ id, token, error, retryInMs, permanent, jitter: u }) => [
    id,
    token,
    error,
    retryInMs ?? '',
    permanent ? '1' : '0',
    u,
  ])
  const results = listOf(await run(caller, NACK, type, [retry.baseMs, retry.factor, retry.capMs, ...args]))
  return items.map((_, i) => lostOf(results[i]) ?? (results[i] === 2 ? 'dead' : 'scheduled'))
}

export async function extend(
  caller: Caller,
  type: string,
  items: readonly (LeaseRef & { readonly visibilityMs: number })[],
): Promise<readonly ({ readonly expiresAtMs: number } | LeaseLost)[]> {
  const results = listOf(
    await run(
      caller,
      EXTEND,
      type,
      items.flatMap(({ id, token, visibilityMs }) => [id, token, visibilityMs]),
      READS,
    ),
  )
  return items.map((_, i) => lostOf(results[i]) ?? { expiresAtMs: Number(results[i]) })
}
