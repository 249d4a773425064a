/**
 * @module storage/memory/task-pages
 * Reads the tasks of one place page by page.
 */
import { takeWithin } from '../index.ts'
import type { TaskPlace } from '../index.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { Task } from './task.ts'
import type { Tiers } from './tiers.ts'
import type { TimerQueue } from './timer-queue.ts'

/** Tasks of one place, each with the cursor behind it. */
interface TaskPage {
  readonly entries: readonly { readonly task: Task; readonly cursor: string }[]
  /** The cursor behind the page; `null` behind the last one. */
  readonly next: string | null
}

/** Where the tasks of a type are. */
interface Places {
  readonly tiers: Tiers
  readonly deadlines: TimerQueue<Task>
  readonly scheduled: TimerQueue<Task>
  readonly dead: DeadLetters
}

/** A page has a successor if it is full. */
const fullPage = (entries: TaskPage['entries'], limit: number): TaskPage => ({
  entries,
  next: entries.length < limit ? null : (entries.at(-1)?.cursor ?? null),
})

/** @param after A position of `listCursor`, `null` for the first page. */
export function pageOf(
  { tiers, deadlines, scheduled, dead }: Places,
  place: TaskPlace,
  after: readonly [number, number] | null,
  limit: number,
): TaskPage {
  const [first, second] = after ?? [0, 0]
  switch (place) {
    case 'pending': {
      const { found, more } = tiers.page(first, second, limit)
      const behindTier = first === 0 || first === 1 ? `${first + 1}:0` : null
      const entries = found.map(({ task, at }) => ({ task, cursor: `${first}:${at + 1}` }))
      return { entries, next: more ? `${first}:${second + limit}` : behindTier }
    }
    case 'in_flight':
    case 'scheduled': {
      const timers = place === 'in_flight' ? deadlines : scheduled
      const found = timers.page({ rank: after === null ? -Infinity : first, order: second }, limit)
      return fullPage(
        found.map(({ value, rank, order }) => ({ task: value, cursor: `${rank}:${order}` })),
        limit,
      )
    }
    case 'dead': {
      const found = takeWithin(dead.after(first), () => 0, 0, limit)
      return fullPage(
        found.map((task) => ({ task, cursor: `${dead.numberOf(task)}:0` })),
        limit,
      )
    }
  }
}
