/**
 * @module storage/group-rules
 * Defines the rules of task groups that need no storage (D119). They are pure functions, so the backends that run in
 * this process apply the same ones. The scripts of the Redis backend implement them in Lua.
 *
 * The rate of a group is a token bucket in the form of GCRA: one time per group, the theoretical arrival time (TAT). It
 * is when the group would start its next task if it had spread all its starts evenly. The group may be ahead of it by
 * `burst` - 1 tasks. Example: 1 task per 100 ms, burst 3. Three tasks start at 0 and move the TAT from 0 to 300. The
 * next one may start at 300 - 2 · 100 = 100.
 */
import type { GroupPolicy, GroupRate } from './contract/task-groups.ts'

/** When the rate permits the next start. @param tat 0 for a group that has started nothing. */
export function rateStart({ intervalMs, burst }: GroupRate, tat: number): number {
  return Math.ceil(tat - (burst - 1) * intervalMs)
}

/** The TAT of a group after a start. A start that is late is not made up for. */
export function tatAfterStart({ intervalMs }: GroupRate, tat: number, nowMs: number): number {
  return Math.max(tat, nowMs) + intervalMs
}

/** Whether a group may not start a task before one of its leases ends. */
export function isGroupFull({ maxInFlight }: GroupPolicy, inFlight: number): boolean {
  return maxInFlight !== null && inFlight >= maxInFlight
}
