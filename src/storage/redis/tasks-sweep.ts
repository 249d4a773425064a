/**
 * @module storage/redis/tasks-sweep
 * Implements the sweep: expired leases, due retries and ended idempotency windows (scripts/tasks.sweep.lua).
 */
import { taskScript } from './script.ts'
import { listOf, run, wakeOf, type TaskCaller } from './tasks-layout.ts'
import type { SweepResult } from '../index.ts'

const SWEEP = taskScript('tasks.sweep')

export async function sweep(caller: TaskCaller, type: string, maxLost: number, limit: number): Promise<SweepResult> {
  const [requeued = 0, promoted = 0, dead = 0, forgottenKeys = 0, more] = listOf(
    await run(caller, SWEEP, type, [...wakeOf(caller, type), maxLost, limit]),
  ).map(Number)
  return { requeued, promoted, dead, forgottenKeys, more: more === 1 }
}
