/**
 * @module storage/redis/tasks-sweep
 * Implements the sweep: expired leases, due retries and ended idempotency windows (scripts/tasks.sweep.lua).
 */
import { script } from './script.ts'
import { listOf, run, wakeOf } from './tasks-layout.ts'
import type { SweepResult } from '../index.ts'
import type { Caller } from './caller.ts'

const SWEEP = script('tasks.sweep')

export async function sweep(caller: Caller, type: string, maxLost: number, limit: number): Promise<SweepResult> {
  const [requeued = 0, promoted = 0, dead = 0, forgottenKeys = 0, more] = listOf(
    await run(caller, SWEEP, type, [...wakeOf(caller, type), maxLost, limit]),
  ).map(Number)
  return { requeued, promoted, dead, forgottenKeys, more: more === 1 }
}
