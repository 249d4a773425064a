/**
 * @module diagnosis/acknowledged
 * Separates the items of the attention list that an admin has acknowledged (D171). An item is listed again when its
 * acknowledgement ends, or when it is worse than it was: when more workers have the problem, or, if it was acknowledged
 * until it changes, when more tasks have it or its error is another one.
 */
import type { Acknowledgement } from '../protocol/index.ts'
import type { Problem, ProblemKind } from './problems.ts'

/** An acknowledgement and its item. */
export interface Acknowledged<P extends Problem = Problem> {
  readonly acknowledgement: Acknowledgement
  /** null if the problem is solved. */
  readonly item: P | null
}

export interface SplitProblems<P extends Problem> {
  readonly open: readonly P[]
  readonly acknowledged: readonly Acknowledged<P>[]
}

/** More workers than were acknowledged are another problem; a queue grows all the time. */
const OF_WORKERS: readonly ProblemKind[] = ['error', 'failing', 'offline', 'behind']

export function splitAcknowledged<P extends Problem>(
  problems: readonly P[],
  acknowledgements: readonly Acknowledgement[],
  nowSeconds: number,
): SplitProblems<P> {
  const known = new Map(acknowledgements.map((each) => [`${each.type} ${each.item}`, each]))
  const open: P[] = []
  const acknowledged: Acknowledged<P>[] = []
  for (const item of problems) {
    const acknowledgement = known.get(keyOf(item))
    known.delete(keyOf(item))
    if (acknowledgement !== undefined && coversProblem(acknowledgement, item, nowSeconds))
      acknowledged.push({ acknowledgement, item })
    else open.push(item)
  }
  const solved = [...known.values()].filter((each) => !hasEnded(each, nowSeconds))
  return {
    open,
    acknowledged: [...acknowledged, ...solved.map((acknowledgement) => ({ acknowledgement, item: null }))],
  }
}

/** Names an item among all. */
export const keyOf = ({ type, item }: Pick<Problem, 'type' | 'item'>): string => `${type} ${item}`

const hasEnded = ({ until }: Acknowledgement, nowSeconds: number): boolean => until !== null && until <= nowSeconds

/** Whether an acknowledgement of the item has not ended, and the problem is not worse than it was then. */
export function coversProblem(
  acknowledgement: Acknowledgement,
  { kind, count, mark }: Pick<Problem, 'kind' | 'count' | 'mark'>,
  nowSeconds: number,
): boolean {
  if (hasEnded(acknowledgement, nowSeconds)) return false
  const { count: seen, mark: seenMark, until_change: untilChange } = acknowledgement
  if (count > seen && (untilChange || OF_WORKERS.includes(kind))) return false
  return !untilChange || mark === seenMark
}
