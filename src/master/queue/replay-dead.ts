/**
 * @module master/queue/replay-dead
 * Counts and replays dead tasks of a group, or of all groups, for operations (D192, D194).
 */
import { RESPONSE_PIECE_BYTES, toSeconds } from '../../protocol/index.ts'
import type { Tasks } from '../../storage/index.ts'
import { patternOf, repairDeadGroups } from './dead-groups.ts'
import type { Replays } from './replays.ts'
import type { TypeQueue } from './type-queue.ts'

/** Dead tasks of one page, and the pages that are read to count those that died since a moment. */
const PAGE = 500
const MAX_PAGES = 20

/** Which dead tasks an operation replays. */
export interface DeadToReplay {
  /** All groups if null. */
  readonly group: string | null
  /** Tasks that died then or later stay dead. */
  readonly beforeMs: number
  /** The id of the operation. */
  readonly operation: string
}

/**
 * Counts dead tasks.
 *
 * @param group All groups if null.
 * @param beforeMs Only deaths before this moment; all if null. Later deaths are subtracted. At most 20 pages of them
 *   are read, of 500 tasks or 1 MiB, so the count can be too high.
 * @returns `asOfMs`: later than each death of the groups.
 */
export async function countDead(
  tasks: Tasks,
  type: string,
  { group, beforeMs }: { readonly group: string | null; readonly beforeMs: number | null },
): Promise<{ readonly count: number; readonly asOfMs: number }> {
  await repairDeadGroups(tasks, type)
  const groups = (await tasks.deadGroups(type)).filter((each) => group === null || each.group === group)
  const all = groups.reduce((sum, { count }) => sum + count, 0)
  const asOfMs = groups.reduce((last, { lastDiedAtMs }) => Math.max(last, lastDiedAtMs + 1), 0)
  const later =
    beforeMs === null || asOfMs <= beforeMs ? 0 : await countSince(tasks, type, { group, sinceMs: beforeMs })
  return { count: Math.max(0, all - later), asOfMs }
}

async function countSince(
  tasks: Tasks,
  type: string,
  { group, sinceMs }: { readonly group: string | null; readonly sinceMs: number },
): Promise<number> {
  let count = 0
  let cursor: string | null = null
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { items, next } = await tasks.newestDead(type, group, cursor, PAGE, RESPONSE_PIECE_BYTES)
    const later = items.filter(({ diedAtMs }) => diedAtMs >= sinceMs).length
    count += later
    cursor = next
    if (later < items.length || cursor === null) break
  }
  return count
}

/**
 * Replays up to `n` dead tasks, a group after the other. All steps of an operation are one replay, whose results are
 * counted (replays.ts).
 *
 * @returns how many, and whether none is left.
 */
export async function replayDead(
  { queue, tasks, replays }: { readonly queue: TypeQueue; readonly tasks: Tasks; readonly replays: Replays },
  { group, beforeMs, operation }: DeadToReplay,
  n: number,
): Promise<{ readonly done: number; readonly isComplete: boolean }> {
  const { type } = queue.entry
  const before = group === null ? null : toSeconds(beforeMs)
  const pattern = async (): Promise<string | null> => (group === null ? null : patternOf(tasks, type, group))
  const result = { done: 0, isComplete: false }
  await replays.run(type, { group, before, operation }, pattern, async (replay) => {
    const groups = group === null ? (await tasks.deadGroups(type)).map((each) => each.group) : [group]
    for (const each of groups) {
      if (result.done >= n) return result.done
      const of = { group: each, action: 'replay', diedBeforeMs: beforeMs, replay } as const
      const replayed = await queue.applyToDeadGroup(of, n - result.done)
      result.done += replayed.done
      if (!replayed.isComplete) return result.done
    }
    result.isComplete = true
    return result.done
  })
  return result
}
