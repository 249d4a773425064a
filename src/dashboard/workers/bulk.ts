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

const IN_FLIGHT = 8

export interface BulkDeps<T> {
  readonly items: readonly T[]
  readonly nameOf: (item: T) => string
  /** @returns what was done, for the list of results. @throws {Problem} */
  readonly act: (item: T) => Promise<string>
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
    return { name, outcome: 'done', text: await act(item) }
  } catch (error) {
    const { status, message } = asProblem(error)
    return { name, outcome: status === null ? 'unknown' : 'rejected', text: message }
  }
}
