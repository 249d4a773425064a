/**
 * @module storage/redis/tasks-cancel
 * Cancels tasks (scripts/tasks.cancel.lua). The ticket of a pending task stays in its list and is recognised as stale
 * later (scripts/include/stale.lua).
 */
import { taskScript } from './script.ts'
import { finishedOf, listOf, run, type TaskCaller } from './tasks-layout.ts'
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import { CANCELLED, DEAD, finishedAs, NOT_FOUND, type CancelResult } from '../index.ts'
import type { Reply } from './caller.ts'

/** By number of the script. */
const RESULTS = [
  NOT_FOUND,
  CANCELLED.pending,
  CANCELLED.scheduled,
  DEAD,
  finishedAs('done'),
  finishedAs('expired'),
  finishedAs('cancelled'),
]

const CANCEL = taskScript('tasks.cancel')

export async function cancel(
  caller: TaskCaller,
  type: string,
  ids: readonly string[],
  actor: string,
  maxOutcomes = DEFAULT_MAX_OUTCOMES,
): Promise<readonly CancelResult[]> {
  const args = [maxOutcomes, ...finishedOf(caller, type), actor, ...ids]
  const results = listOf(await run(caller, CANCEL, type, args))
  return ids.map((_, i) => readResult(results[i] ?? null))
}

/** A text is `token:worker` of a lease that ended. */
function readResult(reply: Reply): CancelResult {
  if (typeof reply !== 'string') return RESULTS[Number(reply)] ?? NOT_FOUND
  const at = reply.indexOf(':')
  return { kind: 'cancelled', was: 'in_flight', worker: reply.slice(at + 1), token: Number(reply.slice(0, at)) }
}
