/**
 * @module storage/contract/task-lists
 * Defines how the tasks of one place are listed page by page (D116).
 */
import type { EpochMs } from './common.ts'
import type { QueueRow, TaskPlace } from './tasks.ts'

/** A task as it is listed with its place. */
export interface ListedTask extends QueueRow {
  /** When its lease ends, when it is due, or when it died; `null` for a pending task. */
  readonly atMs: EpochMs | null
  /** The worker that has the lease; `null` in other places. */
  readonly worker: string | null
  /** The last error of a dead task; `null` in other places. */
  readonly error: string | null
}

/** One page of the tasks of a place. */
export interface TaskList {
  readonly rows: readonly ListedTask[]
  /** The `after` of the next call; `null` behind the last page. */
  readonly next: string | null
}

/** The tasks of the task queues, listed by place. The rules of `Tasks` for `bytes` apply. */
export interface TaskLists {
  /**
   * Lists the tasks of one place: pending ones as they will be leased, those in flight by deadline, scheduled ones by
   * due time, dead ones by death. A page is read in one step. A task that moves between two pages may be listed twice
   * or not at all.
   *
   * @param type The automation type.
   * @param place The place.
   * @param after The `next` of an earlier call for this place, opaque; `null` for the first page.
   * @param limit At most this many rows, 1 to 500.
   * @param bytes Ends the page early, 1 to 32 MiB; 32 MiB if omitted.
   * @returns a page, which may have fewer rows than `limit`, or none, while `next` is not `null`.
   * @throws {TypeError} if `after` is not a cursor of this place.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D116
   */
  list(type: string, place: TaskPlace, after: string | null, limit: number, bytes?: number): Promise<TaskList>
  /**
   * Counts the scheduled tasks that become pending soon, those that are due already included. The cost does not depend
   * on the number of tasks that are due later. On Redis, tasks that were cancelled may still count.
   *
   * @param type The automation type.
   * @param withinMs How soon, 0 to 3,600,000 ms.
   * @returns at most 10,000.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D139
   */
  countDue(type: string, withinMs: number): Promise<number>
}
