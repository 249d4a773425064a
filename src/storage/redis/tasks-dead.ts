/**
 * @module storage/redis/tasks-dead
 * The dead-letter queue: seen, played again, removed. Oldest death first.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { script, taskScript } from './script.ts'
import { readFacts } from './tasks-facts.ts'
import { READS, listOf, readTicket, run, wakeOf, type Ticket, type TaskCaller } from './tasks-layout.ts'
import { attemptsOf } from '../index.ts'
import type { DeadPage, DeadRow, Death, ReplayCounts } from '../index.ts'
import type { Reply } from './caller.ts'

const DEAD = script('tasks.dead')
const REPLAY = taskScript('tasks.replay')
const NEWEST_DEATH = script('tasks.newest-death')
const APPLY_TO_DEAD = taskScript('tasks.apply-to-dead')
const CLEAR = script('tasks.clear-dead')
const REPLAY_COUNTS = script('tasks.replay-counts')
const FORGET_REPLAYS = script('tasks.forget-replays')

export async function dead(
  caller: TaskCaller,
  type: string,
  n: number,
  bytes = MAX_RESPONSE_BYTES,
  after = 0,
): Promise<DeadPage> {
  const [length, next, ...found] = listOf(await run(caller, DEAD, type, [n, bytes, after], READS))
  const items: DeadRow[] = []
  for (let i = 0; i < found.length; i += 3) items.push(rowOf(found[i] ?? '', found[i + 1] ?? '', found[i + 2] ?? null))
  return { length: Number(length), items, ...(typeof next === 'string' && { next: Number(next) }) }
}

export function rowOf(deadRecord: Reply, body: Reply, facts: Reply): DeadRow {
  const { hasFacts, ...record } = readDeadRecord(deadRecord)
  const { attempts = [] } = hasFacts ? readFacts(facts) : {}
  return { ...record, body: String(body), ...attemptsOf(attempts) }
}

/** What a dead record and the facts of the task say about the death. */
export function deathOf(deadRecord: Reply, facts: Reply): Omit<Death, 'kind'> {
  const { attempt, lastError, diedAtMs, hasFacts } = readDeadRecord(deadRecord)
  return { attempt, lastError, diedAtMs, ...(hasFacts && readFacts(facts)) }
}

/** The length in a dead record counts bytes. */
export function readDeadRecord(deadRecord: Reply): Omit<DeadRow, 'body'> & Pick<Ticket, 'hasFacts'> {
  const bytes = Buffer.from(String(deadRecord))
  const [head = '', died, max, length] = /^(\d+):(\d+):(\d+):/.exec(String(deadRecord)) ?? []
  const end = head.length + Number(length)
  const { id, attempt, hasFacts } = readTicket(bytes.toString('utf8', head.length, end))
  return {
    id,
    attempt,
    maxAttempts: Number(max),
    lastError: bytes.toString('utf8', end),
    diedAtMs: Number(died),
    hasFacts,
  }
}

export const replay = async (
  caller: TaskCaller,
  type: string,
  n: number,
  until: number | string = '+inf',
  replayId = '',
): Promise<number> => Number(await run(caller, REPLAY, type, [...wakeOf(caller, type), n, until, replayId]))

export const newestDeath = async (caller: TaskCaller, type: string): Promise<number> =>
  Number(await run(caller, NEWEST_DEATH, type, [], READS))

export const clearDead = async (caller: TaskCaller, type: string): Promise<number> =>
  Number(await run(caller, CLEAR, type, []))

export async function applyToDead(
  caller: TaskCaller,
  type: string,
  action: 'replay' | 'remove',
  ids: readonly string[],
  replayId = '',
): Promise<readonly ('replayed' | 'removed' | 'not_dead')[]> {
  const results = listOf(await run(caller, APPLY_TO_DEAD, type, [...wakeOf(caller, type), action, replayId, ...ids]))
  const done = action === 'replay' ? 'replayed' : 'removed'
  return ids.map((_, i) => (results[i] === 1 ? done : 'not_dead'))
}

export async function replayCounts(
  caller: TaskCaller,
  type: string,
  replays: readonly string[],
): Promise<readonly (ReplayCounts | null)[]> {
  const numbers = listOf(await run(caller, REPLAY_COUNTS, type, replays, READS))
  return replays.map((_, i) => {
    const [done = null, died = null] = [numbers[2 * i], numbers[2 * i + 1]]
    return done === null || died === null ? null : { done: Number(done), died: Number(died) }
  })
}

export async function forgetReplays(caller: TaskCaller, type: string, replays: readonly string[]): Promise<void> {
  await run(caller, FORGET_REPLAYS, type, replays)
}
