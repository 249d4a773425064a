/**
 * @module storage/redis/tasks-cancel
 * Cancels tasks (scripts/tasks.cancel.lua). The ticket of a pending task stays in its list and is recognised as stale
 * later (scripts/include/stale.lua).
 */
import { script } from './script.ts'
import { listOf, run } from './tasks-layout.ts'
import { CANCELLED, DEAD, NOT_FOUND, type CancelResult } from '../index.ts'
import type { Caller } from './caller.ts'

/** By number of the script. */
const RESULTS = [NOT_FOUND, CANCELLED.pending, CANCELLED.in_flight, CANCELLED.scheduled, DEAD]

const CANCEL = script('tasks.cancel')

export async function cancel(caller: Caller, type: string, ids: readonly string[]): Promise<readonly CancelResult[]> {
  const results = listOf(await run(caller, CANCEL, type, ids))
  return ids.map((_, i) => RESULTS[Number(results[i])] ?? NOT_FOUND)
}
