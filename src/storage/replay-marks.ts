/**
 * @module storage/replay-marks
 * Marks the tasks of a replay with its id (D180). The mark is a field of the newest failed attempt of the task, so it
 * moves and ends with the task, and a release that does not know it keeps it. Only dead tasks are replayed, and a task
 * that dies has an attempt. The scripts of the Redis backend implement the same rules (scripts/include/replays.lua).
 */
import type { FailedAttempt } from './contract/attempts.ts'
import type { ReplayCounts } from './contract/replays.ts'

/** An attempt as it is stored. */
export type StoredAttempt = FailedAttempt & { readonly replay?: string }

/** The id of the replay of a task; undefined if it is part of none. */
export const replayOf = (attempts: readonly StoredAttempt[]): string | undefined =>
  attempts.findLast(({ replay }) => replay !== undefined)?.replay

export function withoutReplay(attempts: readonly StoredAttempt[]): readonly FailedAttempt[] {
  if (replayOf(attempts) === undefined) return attempts
  return attempts.map((attempt) => {
    const { replay: _, ...plain } = attempt
    return plain
  })
}

/** @returns the attempts without a mark if `replay` is undefined, or if there is none to mark. */
export function withReplay(attempts: readonly StoredAttempt[], replay: string | undefined): readonly StoredAttempt[] {
  const plain = withoutReplay(attempts)
  const newest = plain.at(-1)
  return replay === undefined || newest === undefined ? plain : [...plain.slice(0, -1), { ...newest, replay }]
}

/** The counts of the replays of one type, for a backend that keeps them in memory. */
export class CountedReplays {
  readonly #counts = new Map<string, { done: number; died: number }>()

  /** Begins to count a replay; without effect if it is counted already. */
  open(replay: string): void {
    if (!this.#counts.has(replay)) this.#counts.set(replay, { done: 0, died: 0 })
  }

  count(replay: string | undefined, what: keyof ReplayCounts): void {
    const counts = replay === undefined ? undefined : this.#counts.get(replay)
    if (counts !== undefined) counts[what] += 1
  }

  get(replay: string): ReplayCounts | null {
    const counts = this.#counts.get(replay)
    return counts === undefined ? null : { ...counts }
  }

  forget(replay: string): void {
    this.#counts.delete(replay)
  }
}
