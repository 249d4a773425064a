/**
 * @module master/operations/worker-steps
 * Defines what an operation does to workers, as the runner calls it. Both methods may be repeated for the same worker,
 * because a master may be stopped before it has stored the result.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { Operation } from './operation-store.ts'
import type { Item } from './stored.ts'

/** An item with the patch that applies to it, if it has one of its own. */
export interface WorkItem {
  readonly item: Item
  readonly patch?: JsonObject | undefined
}

const MAX_AUTHOR_CHARS = 200

/** The author of a change, in the history of a config and with a drain: `operation 3f2a91bc of admin ada`. */
export const authorOf = ({ id, head }: Pick<Operation, 'id' | 'head'>): string =>
  `operation ${id} of ${head.actor}`.slice(0, MAX_AUTHOR_CHARS)

export interface WorkerSteps {
  /**
   * Changes pending workers.
   *
   * @returns the items afterwards, in order; a `pending` one if the store failed, which is tried again.
   */
  begin(operation: Operation, work: readonly WorkItem[]): Promise<readonly Item[]>
  /** Looks at active workers. @returns the items afterwards, in order. */
  judge(operation: Operation, work: readonly WorkItem[]): Promise<readonly Item[]>
}
