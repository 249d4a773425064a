/**
 * @module storage/redis/tasks-submit
 * Tasks into their tiers. Nothing is written before the whole batch is decided: keys first, then ids, then the bound,
 * and a later item sees an earlier one. What is already there costs only the reading of it: a new id gives nil.
 *
 * A call whose answer was lost is sent again. By then another master may have delivered and acked the tasks, so their
 * ids would look new; the call is recognised by its slot and number instead, and its first answer is returned (D79).
 */
import { CALLS, QUEUE, READS, listOf, run, taskScript, ticketOf, PENDING } from './tasks-layout.ts'
import type { NewTask, SubmitItemResult } from '../index.ts'
import type { CallSlots } from './call-slots.ts'
import type { Caller, Reply } from './caller.ts'

/**
 * ARGV: channel, type, window ms, bound or '', shapes, slot and number of the call, then id, ticket, body of each task,
 * then the keys of those that have one. A shape is one character a task: '0' + its tier + 4 where it has a ttl + 8
 * where it has a key. Returns nil where all were queued, else one each: 0 queued, 1 its id is known, 2 the queue is
 * full, or the first id of its key.
 */
const SUBMIT = taskScript(
  'submit',
  [],
  [...PENDING, 't', 'dt', 'dm', 'c', 'i', 'iz', 'm'],
  `${QUEUE}${CALLS}
local slot, number = ARGV[7], tonumber(ARGV[8])
local last = call('HGET', C, slot)
if last then
  local of, results = match(last, '^(%d+):%d+:(.*)$')
  if tonumber(of) == number then return results ~= '' and cjson.decode(results) end
  if tonumber(of) > number then return redis.error_reply('OVERTAKEN a later call of this slot was carried out') end
end
local evicted = not last and evicted_from(C)

local shapes = ARGV[6]
local n, keys, ids = #shapes, {}, {}
for i = 1, n do ids[i] = ARGV[6 + 3 * i] end
for i = 9 + 3 * n, #ARGV do keys[#keys + 1] = ARGV[i] end

local known, windows, dead_count = fetch(T, ids), fetch(I, keys), call('HLEN', DT)
local dead_records = dead_count > 0 and fetch(DM, ids) or {}
local room = ARGV[5] ~= '' and ARGV[5] - dead_count - call('HLEN', T) or math.huge

local results, refused, at_key = {}, false, 0
local bodies, tiers, taken, taken_keys, starts, ends = {}, { {}, {}, {} }, {}, {}, {}, {}
local window_end = int(now + ARGV[4])
local queued = 0
for i = 1, n do
  local shape, id, answer = byte(shapes, i) - 48, ids[i], 0
  local key
  if shape >= 8 then
    at_key = at_key + 1
    key = keys[at_key]
    local first = taken_keys[key]
    if not first and windows[at_key] then
      local over, holder = match(windows[at_key], '^(%d+):(.*)$')
      if tonumber(over) > now then first = holder end
    end
    answer = first or 0
  end
  if answer == 0 then
    if known[i] or dead_records[i] or taken[id] then answer = 1 elseif queued >= room then answer = 2 end
  end
  if answer == 0 then
    local ticket = ARGV[7 + 3 * i]
    if shape % 8 >= 4 then
      local head, tail, ttl = match(ticket, '^(%d+|%d+|)(|%d|(%d+).*)$')
      ticket = head .. int(now + ttl) .. tail
    end
    queued = queued + 1
    taken[id] = true
    bodies[2 * queued - 1] = id
    bodies[2 * queued] = ARGV[8 + 3 * i]
    local tier = tiers[shape % 4 + 1]
    tier[#tier + 1] = ticket
  else
    refused = true
  end
  if key and (answer == 0 or answer == 1) then -- Also of a duplicate (D80).
    taken_keys[key] = id
    starts[#starts + 1] = key
    starts[#starts + 1] = window_end .. ':' .. id
    ends[#ends + 1] = window_end
    ends[#ends + 1] = key
  end
  results[i] = answer
end

if queued > 0 then
  push_back(tiers)
  write('HSET', T, bodies)
  call('HINCRBY', M, 'submitted', queued)
  wake()
end
write('HSET', I, starts)
write('ZADD', IZ, ends)
if evicted then call('HDEL', C, evicted) end
call('HSET', C, slot, ARGV[8] .. ':' .. int(now) .. ':' .. (refused and cjson.encode(results) or ''))
return refused and results
`,
)

const QUEUED: SubmitItemResult = Object.freeze({ queued: true })

export async function submit(
  caller: Caller,
  calls: CallSlots,
  type: string,
  windowMs: number,
  tasks: readonly NewTask[],
  maxLength: number | undefined,
): Promise<readonly SubmitItemResult[]> {
  const args: (string | number)[] = [caller.channel('wake'), type, windowMs, maxLength ?? '', '', '', 0]
  const keys: string[] = []
  let shapes = ''
  for (const task of tasks) {
    args.push(task.id, ticketOf(task), task.body)
    if (task.key !== null) keys.push(task.key)
    shapes += String.fromCharCode(48 + task.tier + (task.ttlMs === null ? 0 : 4) + (task.key === null ? 0 : 8))
  }
  args[4] = shapes
  const results = listOf(
    await calls.take(type, ({ slot, number }) => {
      args[5] = slot
      args[6] = number
      return run(caller, SUBMIT, type, args.concat(keys), READS)
    }),
  )
  return tasks.map((task, i) => answerOf(task, results[i] ?? 0))
}

/** An id that was drawn for this call and is known already stands for this very task. */
function answerOf({ id, ownId }: NewTask, answer: Reply): SubmitItemResult {
  if (typeof answer === 'string') return { duplicateOf: answer }
  if (answer === 2) return 'queue_full'
  return answer === 1 && ownId ? { duplicateOf: id } : QUEUED
}
