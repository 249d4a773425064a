/**
 * @module dashboard/workers/bulk
 * Runs one action on many workers, eight calls at a time, and collects a result for each. After an abort, calls in
 * flight are awaited and the rest is skipped. A call without a response has the result "unknown", never "failed".
 */
import { asProblem } from '../api/problem.ts'
import type { Result } from '../components/results.ts'
import type { WorkerRow } from './row.ts'

export interface BulkProps {
  readonly rows: readonly WorkerRow[]
  readonly onClose: () => void
  /** Called when every worker has a result. */
  readonly onDone: () => void
}

export const pathOf = ({ automation_type: type, worker_id: id }: WorkerRow): readonly string[] => [
  'automations',
  type,
  'workers',
  id,
]

const IN_FLIGHT = 8

/** What was done with one item, or why the item was skipped, with a text for the list of results. */
export interface BulkResult {
  readonly kind: 'done' | 'skipped'
  readonly text: string
}

export interface BulkDeps<T> {
  readonly items: readonly T[]
  readonly nameOf: (item: T) => string
  /** @throws {Problem} */
  readonly act: (item: T) => Promise<BulkResult>
  readonly report: (results: readonly Result[]) => void
  readonly signal: AbortSignal
}

export async function runBulk<T>({ items, nameOf, act, report, signal }: BulkDeps<T>): Promise<readonly Result[]> {
  let results: readonly Result[] = items.map((item) => ({ name: nameOf(item), outcome: 'waiting' }))
  const set = (index: number, result: Result): void => {
    results = results.with(index, result)
    report(results)
  }
  let next = 0
  const runNext = async (): Promise<void> => {
    while (next < items.length) {
      const index = next
      next += 1
      const item = items[index] as T
      set(
        index,
        signal.aborted
          ? { name: nameOf(item), outcome: 'skipped', text: 'not started' }
          : await resultOf(item, nameOf, act),
      )
    }
  }
  report(results)
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, items.length) }, runNext))
  return results
}

async function resultOf<T>(item: T, nameOf: BulkDeps<T>['nameOf'], act: BulkDeps<T>['act']): Promise<Result> {
  const name = nameOf(item)
  try {
    const { kind, text } = await act(item)
    return { name, outcome: kind, text }
  } catch (error) {
    const { status, message } = asProblem(error)
    return {
      name,
      outcome: status === null ? 'unknown' : 'rejected',
      text: status === 412 ? 'its config was changed in the meantime; nothing was saved' : message,
    }
  }
}
