/**
 * @module storage/redis/tasks-sweep
 * What time decides: leases that ran out go back to the front of their tiers, or die where that happened too often; due
 * retries are promoted; ended idempotency windows are forgotten. At most `limit` of each, the earliest first.
 */
import { MOVE_TO_DEAD, LEASE, PENDING, PROMOTE, QUEUE, TICKET, listOf, run, taskScript } from './tasks-layout.ts'
import type { SweepResult } from '../index.ts'
import type { Caller } from './caller.ts'

/** Leases of one moment that are put in order. */
const MOMENT = 5_000

/**
 * ARGV: channel, type, lost leases a task dies of or 0, limit. Returns requeued, promoted, dead, forgotten keys, 1
 * where more is left.
 */
const SWEEP = taskScript(
  'sweep',
  ['allow-oom'],
  [...PENDING, 't', 'v', 'l', 'd', 's', 'dz', 'dt', 'dm', 'i', 'iz', 'm'],
  `${TICKET}${LEASE}${QUEUE}${PROMOTE}${MOVE_TO_DEAD}
local max_lost, limit, more = tonumber(ARGV[4]), tonumber(ARGV[5]), false

local function past(key)
  local found = call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit + 1)
  if #found > limit then
    more = true
    found[#found] = nil
  end
  return found
end

-- The leases of one reserve share a deadline, and their tokens tell their order; so where the limit would part a moment,
-- all of that moment is looked at.
local ids = {}
local function overdue()
  local found = past(V)
  if #found == limit and more then
    local edge = call('ZSCORE', V, found[limit])
    found = call('ZRANGE', V, '-inf', edge, 'BYSCORE', 'LIMIT', 0, limit + ${MOMENT})
  end
  local records, scores, passed = fetch(L, found), {}, {}
  for i = 1, #found, 2000 do
    local part = call('ZMSCORE', V, unpack(found, i, math.min(i + 1999, #found)))
    for j = 1, #part do scores[i + j - 1] = tonumber(part[j]) end
  end
  for i = 1, #found do
    if records[i] then
      passed[#passed + 1] = { deadline = scores[i], token = tonumber(match(records[i], '^%d+')), id = found[i], record = records[i] }
    else
      ids[#ids + 1] = found[i]
    end
  end
  table.sort(passed, function(a, b) return a.deadline < b.deadline or (a.deadline == b.deadline and a.token < b.token) end)
  for i = #passed, limit + 1, -1 do passed[i] = nil end
  return passed
end

local passed = overdue()
local back, dead = { {}, {}, {} }, {}
for _, lease in ipairs(passed) do
  ids[#ids + 1] = lease.id
  local max, old = read_lease(lease.record)
  local t = read_ticket(old)
  t.lost = t.lost + 1
  local ticket = write_ticket(t)
  if max_lost > 0 and t.lost >= max_lost then
    dead[#dead + 1] = { id = t.id, max = t.max ~= '' and t.max or max, ticket = ticket, error = 'lease lost ' .. t.lost .. ' times' }
  else
    table.insert(back[t.tier + 1], ticket)
  end
end
local keys = past(IZ)

move_to_dead(dead)
push_front(back)
write('ZREM', V, ids)
write('HDEL', L, ids)
local promoted, next_due = promote(limit)
if next_due and tonumber(next_due) <= now then more = true end
write('HDEL', I, keys)
write('ZREM', IZ, keys)
wake()
return { #passed - #dead, promoted, #dead, #keys, more and 1 or 0 }
`,
)

export async function sweep(caller: Caller, type: string, maxLost: number, limit: number): Promise<SweepResult> {
  const [requeued = 0, promoted = 0, dead = 0, forgottenKeys = 0, more] = listOf(
    await run(caller, SWEEP, type, [caller.channel('wake'), type, maxLost, limit]),
  ).map(Number)
  return { requeued, promoted, dead, forgottenKeys, more: more === 1 }
}
