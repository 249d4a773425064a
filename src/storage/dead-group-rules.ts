/**
 * @module storage/dead-group-rules
 * Defines the rules of groups of dead tasks that the backends share (D157), and counts groups for those backends that
 * run in this process. The scripts of the Redis backend implement the same rules (scripts/include/dead-groups.lua).
 */
import { MAX_DEAD_GROUPS, OTHER_GROUP } from './error-pattern.ts'
import type { FailedAttempt } from './contract/attempts.ts'
import type { EpochMs } from './contract/common.ts'

/** Length of an interval of a trend. */
export const TREND_INTERVAL_MS = 300_000
/** Intervals of a trend. */
export const TREND_INTERVALS = 12
/** Newest deaths of a group whose workers are shown, and how many of them. */
export const GROUP_DEATHS_READ = 8
const MAX_GROUP_WORKERS = 3
/** Characters of the error of an example. */
const MAX_EXAMPLE_CHARS = 1_024
/** Intervals that are counted at most, so that a clock that steps back finds those before. */
const MAX_COUNTED_INTERVALS = 4 * TREND_INTERVALS

/** Returns the worker of the run that ended in death. @param attempts The failed attempts of the task. */
export const workerOfDeath = (attempts: readonly FailedAttempt[] = []): string => attempts.at(-1)?.worker ?? ''

/** The workers of the newest deaths. @param workers One per death, newest first; '' if it is not known. */
export function workersOfDeaths(workers: readonly string[]): readonly string[] {
  return [...new Set(workers)].filter((worker) => worker !== '').slice(0, MAX_GROUP_WORKERS)
}

/** The error of an example, without half a surrogate pair at the cut. */
export function exampleError(error: string): string {
  const cut = error.slice(0, MAX_EXAMPLE_CHARS)
  return error.length <= MAX_EXAMPLE_CHARS || cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** When the task `index` of a paced replay is due. */
export function pacedDueMs(
  nowMs: EpochMs,
  { delayMs, intervalMs }: { readonly delayMs: number; readonly intervalMs: number },
  index: number,
): EpochMs {
  return nowMs + Math.floor(delayMs + index * intervalMs)
}

const intervalOf = (atMs: EpochMs): number => Math.floor(atMs / TREND_INTERVAL_MS)

interface Group {
  count: number
  /** Deaths by interval, of the newest intervals. */
  readonly deaths: Map<number, number>
}

/** Counts the dead tasks of one type by group. */
export class DeadGroupCounts {
  readonly #groups = new Map<string, Group>()

  /** The group that a task with this group enters: another one if there are too many. */
  groupFor(group: string): string {
    const others = this.#groups.size - (this.#groups.has(OTHER_GROUP) ? 1 : 0)
    return this.#groups.has(group) || others < MAX_DEAD_GROUPS ? group : OTHER_GROUP
  }

  add(group: string, diedAtMs: EpochMs, tasks = 1): void {
    const entry = this.#groups.get(group) ?? { count: 0, deaths: new Map<number, number>() }
    this.#groups.set(group, entry)
    entry.count += tasks
    const interval = intervalOf(diedAtMs)
    entry.deaths.set(interval, (entry.deaths.get(interval) ?? 0) + tasks)
    if (entry.deaths.size > MAX_COUNTED_INTERVALS) entry.deaths.delete(Math.min(...entry.deaths.keys()))
  }

  remove(group: string, diedAtMs: EpochMs): void {
    const entry = this.#groups.get(group)
    if (entry === undefined) return
    entry.count -= 1
    if (entry.count <= 0) this.#groups.delete(group)
    const interval = intervalOf(diedAtMs)
    const left = (entry.deaths.get(interval) ?? 0) - 1
    if (left > 0) entry.deaths.set(interval, left)
    else entry.deaths.delete(interval)
  }

  /** Removes all. @returns a function that restores them. */
  clear(): () => void {
    const groups = [...this.#groups]
    this.#groups.clear()
    return () => {
      for (const [group, entry] of groups) this.#groups.set(group, entry)
    }
  }

  /** The groups, in no order. */
  counts(): readonly (readonly [group: string, count: number])[] {
    return [...this.#groups].map(([group, { count }]) => [group, count])
  }

  /** Deaths in each of the last intervals, the current one last. */
  trend(group: string, nowMs: EpochMs): readonly number[] {
    const first = intervalOf(nowMs) - TREND_INTERVALS + 1
    const deaths = this.#groups.get(group)?.deaths
    return Array.from({ length: TREND_INTERVALS }, (_, i) => deaths?.get(first + i) ?? 0)
  }
}
