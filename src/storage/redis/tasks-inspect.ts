/**
 * @module storage/redis/tasks-inspect
 * What can be seen of the tasks that are not dead, without moving any.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { script, taskScript } from './script.ts'
import { READS, listOf, readTicket, run, type TaskCaller } from './tasks-layout.ts'
import { readPause } from './tasks-pause.ts'
import { totalsOf } from '../index.ts'
import type { Counts, TaskPlace, QueuePage, QueueRow, QueueTicket } from '../index.ts'
import type { Reply } from './caller.ts'

const PLACES: readonly (TaskPlace | null)[] = [null, 'pending', 'in_flight', 'scheduled', 'dead']

const LOCATE = script('tasks.locate')
const SHOW = taskScript('tasks.queue')
const BODIES = script('tasks.bodies')
const COUNTS = taskScript('tasks.counts')
const COUNT_DUE = script('tasks.count-due')

export async function locate(
  caller: TaskCaller,
  type: string,
  ids: readonly string[],
): Promise<readonly (TaskPlace | null)[]> {
  const results = listOf(await run(caller, LOCATE, type, ids, READS))
  return ids.map((_, i) => PLACES[Number(results[i])] ?? null)
}

export async function queue(
  caller: TaskCaller,
  type: string,
  n: number,
  bytes = MAX_RESPONSE_BYTES,
): Promise<QueuePage> {
  const [length, paused, tickets, shown] = (await run(caller, SHOW, type, [n, bytes], READS)) as readonly [
    number,
    string | null,
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
  return { length, items, ...(rest.length > 0 && { rest }), ...readPause(paused) }
}

export async function bodies(
  caller: TaskCaller,
  type: string,
  ids: readonly string[],
  bytes = MAX_RESPONSE_BYTES,
): Promise<readonly (string | null)[]> {
  return listOf(await run(caller, BODIES, type, [bytes, ...ids], READS)) as readonly (string | null)[]
}

/** One script a type: each has a hash tag of its own. */
export const counts = (caller: TaskCaller, types: readonly string[]): Promise<readonly Counts[]> =>
  Promise.all(types.map((type) => countsOf(caller, type)))

export const countDue = async (caller: TaskCaller, type: string, withinMs: number): Promise<number> =>
  Number(await run(caller, COUNT_DUE, type, [withinMs], READS))

async function countsOf(caller: TaskCaller, type: string): Promise<Counts> {
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
    cancelled = 0,
  ] = reply.slice(0, 11).map(Number)
  const [paused = null, groups = null, ...first] = reply.slice(11)
  const next = first.map((ticket) => readTicket(String(ticket)).submitted)
  return {
    tiers: [high, normal, low],
    scheduled,
    inFlight,
    dead,
    oldestSubmittedAtMs: next.length === 0 ? null : Math.min(...next),
    totals: totalsOf({ submitted, acked, nacked, died }, cancelled),
    ...readPause(paused),
    ...readGroupTotals(groups),
  }
}

function readGroupTotals(reply: Reply): Pick<Counts, 'groups'> {
  if (reply === null) return {}
  const [ready = 0, waiting = 0, inFlight = 0] = listOf(reply).map(Number)
  return { groups: { ready, waiting, inFlight } }
}
