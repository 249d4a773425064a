/**
 * @module storage/redis/tasks-dead-groups
 * Lists, replays and removes dead tasks by groups of errors, newest death first (D157). The scripts keep the groups;
 * the group of an error is found here (scripts/include/dead-groups.lua).
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import {
  errorGroup,
  exampleError,
  listCursor,
  workersOfDeaths,
  type DeadGroup,
  type DeadGroups,
  type DeadRow,
  type NewestDead,
  type DeadGroupAct,
} from '../index.ts'
import type { Reply } from './caller.ts'
import { script, taskScript } from './script.ts'
import { readDeadRecord, rowOf } from './tasks-dead.ts'
import { isShortBody, listOf, READS, run, wakeOf, type TaskCaller } from './tasks-layout.ts'

const GROUPS = script('tasks.dead-groups')
const UNGROUPED = script('tasks.ungrouped')
const GROUP = script('tasks.group-dead')
const NEWEST = script('tasks.newest-dead')
const APPLY = taskScript('tasks.apply-to-dead-group')
const TASK = script('tasks.dead-task')
const REPLAY_EDITED = taskScript('tasks.replay-edited')

export function createDeadGroups(caller: TaskCaller): DeadGroups {
  return {
    deadGroups: (type) => deadGroups(caller, type),
    groupDead: (type, n) => groupDead(caller, type, n),
    newestDead: (type, group, before, n, bytes) => newestDead(caller, type, group, before, n, bytes),
    applyToDeadGroup: (type, act) => applyToDeadGroup(caller, type, act),
    deadTask: (type, id) => deadTask(caller, type, id),
    replayEdited: (type, id, diedAtMs, body) => replayEdited(caller, type, id, diedAtMs, body),
  }
}

async function deadGroups(caller: TaskCaller, type: string): Promise<readonly DeadGroup[]> {
  const found = listOf(await run(caller, GROUPS, type, [], READS)).map(readGroup)
  return found.toSorted((a, b) => b.number - a.number).map(({ row }) => row)
}

function readGroup(reply: Reply): { readonly row: DeadGroup; readonly number: number } {
  const [group, count, first, last, number, id, error, trend, workers] = listOf(reply)
  const row: DeadGroup = {
    group: String(group),
    count: Number(count),
    firstDiedAtMs: Number(first),
    lastDiedAtMs: Number(last),
    trend: String(trend).split('\n').map(Number),
    workers: workersOfDeaths(
      String(workers)
        .split('\n')
        .map((text) => JSON.parse(text) as string),
    ),
    example: { id: String(id), lastError: exampleError(String(error)) },
  }
  return { row, number: Number(number) }
}

/** @returns whether more is left. */
async function groupDead(caller: TaskCaller, type: string, n: number): Promise<boolean> {
  const [before, last, ...found] = listOf(await run(caller, UNGROUPED, type, [n]))
  if (typeof before !== 'string' || typeof last !== 'string') return false
  const args: (string | number)[] = [before, last]
  for (let i = 0; i < found.length; i += 3) {
    const { diedAtMs, lastError } = readDeadRecord(found[i + 2] ?? '')
    args.push(String(found[i]), String(found[i + 1]), diedAtMs || 0, errorGroup(lastError ?? ''))
  }
  await run(caller, GROUP, type, args)
  return true
}

async function newestDead(
  caller: TaskCaller,
  type: string,
  group: string | null,
  before: string | null,
  n: number,
  bytes = MAX_RESPONSE_BYTES,
): Promise<NewestDead> {
  const position = before === null ? ['', ''] : listCursor(before)
  const [died, number, ...found] = listOf(await run(caller, NEWEST, type, [group ?? '', n, bytes, ...position], READS))
  const items: DeadRow[] = []
  for (let i = 0; i < found.length; i += 3) items.push(rowOf(found[i] ?? '', found[i + 1] ?? '', found[i + 2] ?? null))
  return { items, next: typeof number === 'string' ? `${String(died)}:${number}` : null }
}

async function applyToDeadGroup(
  caller: TaskCaller,
  type: string,
  { group, action, diedBeforeMs, n, pace, replay = '' }: DeadGroupAct,
): Promise<number> {
  const pacing = pace === undefined ? ['', ''] : [pace.delayMs, pace.intervalMs]
  const args = [...wakeOf(caller, type), group, action, diedBeforeMs, n, ...pacing, replay]
  for (;;) {
    const [seen = 0, done = 0] = listOf(await run(caller, APPLY, type, args)).map(Number)
    if (done > 0 || seen === 0) return done
  }
}

async function deadTask(caller: TaskCaller, type: string, id: string): Promise<DeadRow | null> {
  const [deadRecord = null, body = null, facts = null] = listOf(await run(caller, TASK, type, [id], READS))
  return deadRecord === null || body === null ? null : rowOf(deadRecord, body, facts)
}

async function replayEdited(
  caller: TaskCaller,
  type: string,
  id: string,
  diedAtMs: number,
  body: string,
): Promise<boolean> {
  const args = [...wakeOf(caller, type), id, diedAtMs, body, isShortBody(body) ? 1 : 0]
  return (await run(caller, REPLAY_EDITED, type, args)) === 1
}
