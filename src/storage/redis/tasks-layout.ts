/**
 * @module storage/redis/tasks-layout
 * Defines how the tasks of one automation type T are stored in Redis. All keys have the hash tag `{a:T}`, as those of
 * the registry of the type (workers-layout.ts):
 *
 *   p0 p1 p2  LIST    tickets of the pending tasks of a tier, next in line first
 *   t         HASH    id → body, of every task that is not dead
 *   v  l      ZSET id by deadline, HASH id → lease: in flight
 *   d  s      ZSET ticket by due time, SET of ids: scheduled
 *   dz        ZSET    id by the number of its death (`died` at that time), which orders deaths of the same moment
 *   dt dm     HASH id → body, HASH id → dead record: dead. Apart from `t`, so that clearing them is one UNLINK
 *   c         HASH    slot of a process → `number of its last submit:ms:results`, results empty if all were queued
 *   r         HASH    slot of a process → `number of its last reserve:ms:token before the first:ids` as JSON
 *   i  iz     HASH key → `<end>:<first id>`, ZSET key by end: idempotency windows
 *   m         HASH    f (last token), run (the run of the store in which it was issued), u b (the tokens after u up to b
 *                     were skipped when f last rose), n (segments begun), s0..s3 (the segments of the bitmaps), t0..t3
 *                     (those of the fingerprints), submitted, acked, nacked, died (running totals)
 *   k0..k3    STRING  bitmaps of acknowledged tokens, one segment of 2^20 tokens each; the oldest is recycled
 *   h0..h3    STRING  for each bitmap the fingerprints of the tasks (fingerprint.ts), 32 bits per token; 0: acknowledged
 *                     by an older version
 *
 *   ticket       `submitted|bytes|expires|tier|ttl|own max|attempt|lost|look:id`   numbers up to the colon, some empty
 *   lease        `token:max:<length of worker>:<worker><ticket>`   max: of the worker; an own max in the ticket wins
 *   dead record  `died:max:<length of ticket>:<ticket><error>`
 *
 * A ticket is all of a task but its body, and moves with it from place to place; so no script decodes a body, none has
 * to read one to know its size, and a task in flight costs one field and one score. `look` is 0 where a reserve need
 * not look at bytes and expires: the body is short and lives as long as it takes.
 *
 * Scripts write the place a task comes to before they leave the one it was in. None of these writes can fail; if one
 * did, a task would be found twice (at least once is the promise), and a ticket without its body is dropped.
 */
import { key } from './keys.ts'
import { script } from './script.ts'
import type { NewTask } from '../index.ts'
import type { Caller, CallOptions, Reply } from './caller.ts'
import type { Script, ScriptFlag } from './script.ts'

type Part =
  | 'p0'
  | 'p1'
  | 'p2'
  | 't'
  | 'v'
  | 'l'
  | 'd'
  | 's'
  | 'dz'
  | 'dt'
  | 'dm'
  | 'c'
  | 'r'
  | 'i'
  | 'iz'
  | 'm'
  | 'k0'
  | 'k1'
  | 'k2'
  | 'k3'
  | 'h0'
  | 'h1'
  | 'h2'
  | 'h3'
/** Of the registry: generation and drain by worker. */
type RecordPart = 'g' | 'dr'
export const PENDING: readonly Part[] = ['p0', 'p1', 'p2']
export const ACKED: readonly Part[] = ['k0', 'k1', 'k2', 'k3']
export const ACKED_TASKS: readonly Part[] = ['h0', 'h1', 'h2', 'h3']

/** A script on some of the keys of one type. */
export interface TaskScript {
  readonly script: Script
  readonly parts: readonly (Part | RecordPart)[]
}

/** In `body` every key is a local of its name in capitals: `T`, `P0`. */
export function taskScript(
  name: string,
  flags: readonly ScriptFlag[],
  parts: TaskScript['parts'],
  body: string,
): TaskScript {
  const locals = `local ${parts.map((part) => part.toUpperCase()).join(', ')} = ${parts.map((_, i) => `KEYS[${i + 1}]`).join(', ')}`
  return { script: script(`tasks.${name}`, flags, `${locals}\n${BASE}\n${body}`), parts }
}

export function run(
  caller: Caller,
  { script: of, parts }: TaskScript,
  type: string,
  args: readonly (string | number)[],
  options?: CallOptions,
): Promise<Reply> {
  const stem = key('a', type, '')
  return caller.run(
    of,
    parts.map((part) => stem + part),
    args,
    options,
  )
}

/** Tokens of one bitmap. */
export const SEGMENT = 2 ** 20
/** Bodies that a script holds together: each may be a megabyte. */
export const BODIES_PER_READ = 100
/** Bytes of a body below which it does not count towards the size of an answer: 500 of them are 2 MiB. */
const SHORT_BODY = 4_096

export const READS: CallOptions = { repeatable: true }
export const listOf = (reply: Reply): readonly Reply[] => (Array.isArray(reply) ? (reply as readonly Reply[]) : [])

/** `expires` is left to the script: the time is the store's. */
export function ticketOf({ id, tier, ttlMs, maxAttempts, submittedAtMs: submitted, body }: NewTask): string {
  const bytes = Buffer.byteLength(body)
  const look = ttlMs === null && bytes < SHORT_BODY ? 0 : 1
  return `${submitted}|${bytes}||${tier}|${ttlMs ?? ''}|${maxAttempts ?? ''}|0|0|${look}:${id}`
}

export interface Ticket {
  readonly id: string
  readonly submitted: number
  readonly ownMax: number | null
  readonly attempt: number
}

export function readTicket(ticket: string): Ticket {
  const colon = ticket.indexOf(':')
  const [submitted, , , , , ownMax, attempt] = ticket.slice(0, colon).split('|')
  return {
    id: ticket.slice(colon + 1),
    submitted: Number(submitted),
    ownMax: ownMax === '' ? null : Number(ownMax),
    attempt: Number(attempt),
  }
}

// ── Pieces of Lua ───────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Commands with any number of arguments: Lua passes at most about 8,000 in one call. Pieces of even length part no
 * pair.
 */
const BASE = `
local call, match, sub, find, byte, floor = redis.call, string.match, string.sub, string.find, string.byte, math.floor
local function write(command, key, list)
  local n = #list
  if n <= 2000 then return n > 0 and call(command, key, unpack(list)) end
  local last
  for i = 1, n, 2000 do last = call(command, key, unpack(list, i, math.min(i + 1999, n))) end
  return last
end
local function fetch(key, fields)
  if #fields == 0 then return {} end
  if #fields <= 2000 then return call('HMGET', key, unpack(fields)) end
  local values = {}
  for i = 1, #fields, 2000 do
    local part = call('HMGET', key, unpack(fields, i, math.min(i + 1999, #fields)))
    for j = 1, #part do values[i + j - 1] = part[j] end
  end
  return values
end
`

/** Takes a ticket apart and makes it anew. */
export const TICKET = `
local function read_ticket(ticket)
  local submitted, bytes, expires, tier, ttl, max, attempt, lost, look, id = match(ticket, '^(%d+)|(%d+)|(%d*)|(%d)|(%d*)|(%d*)|(%d+)|(%d+)|(%d):(.*)$')
  return { submitted = submitted, bytes = bytes, expires = expires, tier = tonumber(tier), ttl = ttl, max = max, attempt = tonumber(attempt), lost = tonumber(lost), look = look, id = id }
end
local function write_ticket(t)
  return table.concat({ t.submitted, t.bytes, t.expires, t.tier, t.ttl, t.max, t.attempt, t.lost, t.look }, '|') .. ':' .. t.id
end
`

/** The lease `record` stands for, if `token` is the one it was issued with. */
export const LEASE = `
local function is_held(record, token) return record and sub(record, 1, #token + 1) == token .. ':' end
local function read_lease(record)
  local max, length, rest = match(record, '^%d+:(%d+):(%d+):(.*)$')
  return max, sub(rest, length + 1)
end
`

/**
 * The result for a lease that is not current: 0; -1 where its token was not issued by this store, which proves that the
 * store went back in time (G26): above the counter, or skipped when the counter last rose, after `u` up to `b`.
 */
export const LOST = `
local function lost_code(token, f, u, b)
  local isAbove = f and token > tonumber(f)
  return (isAbove or (u and token > tonumber(u) and token <= tonumber(b))) and -1 or 0
end
local function tell_lost(results, token_of)
  local m
  for i = 1, #results do
    if results[i] == 0 then
      m = m or call('HMGET', M, 'f', 'u', 'b')
      results[i] = lost_code(tonumber(token_of(i)), m[1], m[2], m[3])
    end
  end
end
`

/** Slots of processes that are remembered (call-slots.ts); beyond it the one that was silent longest goes. */
const MAX_SLOTS = 1_000

/** The slot that makes room for a new one in the hash of calls, if any. */
export const CALLS = `
local function evicted_from(hash)
  if call('HLEN', hash) < ${MAX_SLOTS} then return nil end
  local fields, oldest, at = call('HGETALL', hash), math.huge, nil
  for i = 1, #fields, 2 do
    local ms = tonumber(match(fields[i + 1], '^%d+:(%d+)'))
    if ms < oldest then oldest, at = ms, fields[i] end
  end
  return at
end
`

/**
 * Queues tickets, a list of them a tier, and wakes the masters where a tier was empty. ARGV[2] and [3]: the channel and
 * what to say there.
 */
export const QUEUE = `
local TIERS, woken = { P0, P1, P2 }, false
local function push_back(tiers)
  for t = 1, 3 do
    if #tiers[t] > 0 and write('RPUSH', TIERS[t], tiers[t]) == #tiers[t] then woken = true end
  end
end
local function push_front(tiers)
  for t = 1, 3 do
    local list, reversed = tiers[t], {}
    for i = #list, 1, -1 do reversed[#reversed + 1] = list[i] end
    if #list > 0 and write('LPUSH', TIERS[t], reversed) == #list then woken = true end
  end
end
local function wake() if woken then call('PUBLISH', ARGV[2], ARGV[3]) end end
`

/** Due retries to the back of their tiers, in due order. Returns how many, and when the next one is due. */
export const PROMOTE = `
local function promote(limit)
  local first = call('ZRANGE', D, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > now then return 0, first[2] end
  local due = call('ZRANGE', D, 0, limit, 'WITHSCORES')
  local tickets, ids, tiers, next_due = {}, {}, { {}, {}, {} }, nil
  for i = 1, #due, 2 do
    if #tickets == limit or tonumber(due[i + 1]) > now then next_due = due[i + 1] break end
    local tier, id = match(due[i], '^%d+|%d+|%d*|(%d)[%d|]*:(.*)$')
    table.insert(tickets, due[i])
    table.insert(ids, id)
    table.insert(tiers[tier + 1], due[i])
  end
  push_back(tiers)
  write('ZREM', D, tickets)
  write('SREM', S, ids)
  return #tickets, next_due
end
`

/** Bodies from one hash to another, a few at a time: they may be large. */
const MOVE = `
local function move(from, to, ids)
  for i = 1, #ids, ${BODIES_PER_READ} do
    local part, found = { unpack(ids, i, math.min(i + ${BODIES_PER_READ - 1}, #ids)) }, {}
    local bodies = call('HMGET', from, unpack(part))
    for j = 1, #part do
      if bodies[j] then found[#found + 1] = part[j] found[#found + 1] = bodies[j] end
    end
    write('HSET', to, found)
    call('HDEL', from, unpack(part))
  end
end
`

/** `dead`: items { id, max, ticket, error }, their leases already ended. */
export const MOVE_TO_DEAD = `${MOVE}
local function move_to_dead(dead)
  if #dead == 0 then return end
  local before = call('HINCRBY', M, 'died', #dead) - #dead
  local ids, order, dead_records = {}, {}, {}
  for i = 1, #dead do
    local one = dead[i]
    ids[i] = one.id
    order[2 * i - 1] = before + i
    order[2 * i] = one.id
    dead_records[2 * i - 1] = one.id
    dead_records[2 * i] = int(now) .. ':' .. one.max .. ':' .. #one.ticket .. ':' .. one.ticket .. one.error
  end
  write('HSET', DM, dead_records)
  write('ZADD', DZ, order)
  move(T, DT, ids)
end
`

/** Dead tasks to the back of the normal tier, as new. Returns how many. `dead_records`: those of `ids`. */
export const REPLAY_DEAD = `${MOVE}
local function remove_dead(ids)
  write('HDEL', DM, ids)
  write('ZREM', DZ, ids)
end
local function replay_dead(ids, dead_records)
  local tickets = {}
  for i = 1, #ids do
    if dead_records[i] then
      local length, rest = match(dead_records[i], '^%d+:%d+:(%d+):(.*)$')
      local t = read_ticket(sub(rest, 1, length))
      t.attempt, t.lost = 0, 0
      if t.ttl ~= '' then t.expires = int(now + t.ttl) end
      tickets[#tickets + 1] = write_ticket(t)
    end
  end
  push_back({ {}, tickets, {} })
  move(DT, T, ids)
  remove_dead(ids)
  return #tickets
end
`
