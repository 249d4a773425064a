/**
 * @module storage/redis/tasks-submit
 * Tasks into their tiers. Nothing is written before the whole batch is decided: keys first, then ids, then the bound, and
 * a later item sees an earlier one. What is already there costs only the reading of it: an id that is new answers nil.
 */
import { QUEUE, READS, listOf, run, taskScript, ticketOf, PENDING } from './tasks-layout.ts'
import type { NewTask, Submitted } from '../index.ts'
import type { Caller, Reply } from './caller.ts'

/**
 * ARGV: channel, type, window ms, bound or '', shapes, then id, ticket, body of each task, then the keys of those that
 * have one. A shape is one character a task: '0' + its tier + 4 where it has a ttl + 8 where it has a key.
 * Answers nil where all were queued, else one each: 0 queued, 1 its id is known, 2 the queue is full, or the first id of its key.
 */
const SUBMIT = taskScript(
  'submit',
  [],
  [...PENDING, 't', 'dt', 'dm', 'i', 'iz', 'm'],
  `${QUEUE}
local shapes = ARGV[6]
local n, keys, ids = #shapes, {}, {}
for i = 1, n do ids[i] = ARGV[4 + 3 * i] end
for i = 7 + 3 * n, #ARGV do keys[#keys + 1] = ARGV[i] end

local known, windows, buried = fetch(T, ids), fetch(I, keys), call('HLEN', DT)
local graves = buried > 0 and fetch(DM, ids) or {}
local room = ARGV[5] ~= '' and ARGV[5] - buried - call('HLEN', T) or math.huge

local answers, refused, at_key = {}, false, 0
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
    if known[i] or graves[i] or taken[id] then answer = 1 elseif queued >= room then answer = 2 end
  end
  if answer == 0 then
    local ticket = ARGV[5 + 3 * i]
    if shape % 8 >= 4 then
      local head, tail, ttl = match(ticket, '^(%d+|%d+|)(|%d|(%d+).*)$')
      ticket = head .. int(now + ttl) .. tail
    end
    queued = queued + 1
    taken[id] = true
    bodies[2 * queued - 1] = id
    bodies[2 * queued] = ARGV[6 + 3 * i]
    local tier = tiers[shape % 4 + 1]
    tier[#tier + 1] = ticket
    if key then
      taken_keys[key] = id
      starts[#starts + 1] = key
      starts[#starts + 1] = window_end .. ':' .. id
      ends[#ends + 1] = window_end
      ends[#ends + 1] = key
    end
  else
    refused = true
  end
  answers[i] = answer
end

if queued > 0 then
  push_back(tiers)
  write('HSET', T, bodies)
  write('HSET', I, starts)
  write('ZADD', IZ, ends)
  call('HINCRBY', M, 'submitted', queued)
  wake()
end
return refused and answers
`,
)

const QUEUED: Submitted = Object.freeze({ queued: true })

export async function submit(
  caller: Caller,
  type: string,
  windowMs: number,
  tasks: readonly NewTask[],
  maxLength: number | undefined,
): Promise<readonly Submitted[]> {
  const args: (string | number)[] = [caller.channel('wake'), type, windowMs, maxLength ?? '', '']
  const keys: string[] = []
  let shapes = ''
  for (const task of tasks) {
    args.push(task.id, ticketOf(task), task.body)
    if (task.key !== null) keys.push(task.key)
    shapes += String.fromCharCode(48 + task.tier + (task.ttlMs === null ? 0 : 4) + (task.key === null ? 0 : 8))
  }
  args[4] = shapes
  const answers = listOf(await run(caller, SUBMIT, type, args.concat(keys), READS))
  return tasks.map((task, i) => answerOf(task, answers[i] ?? 0))
}

/** An id drawn for this very call that is known already: the call was repeated. */
function answerOf({ id, ownId }: NewTask, answer: Reply): Submitted {
  if (typeof answer === 'string') return { duplicateOf: answer }
  if (answer === 2) return 'queue_full'
  return answer === 1 && ownId ? { duplicateOf: id } : QUEUED
}
