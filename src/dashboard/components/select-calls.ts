/**
 * @module dashboard/components/select-calls
 * Acts on exactly the tasks that were shown (D50, D109). Their IDs are sent in sequential calls of 1,000. The first
 * failed call ends the action: without a response, the outcome of its tasks is unknown and the list is reloaded.
 */
import { Problem } from '../api/problem.ts'
import { countText } from './numbers.ts'

const IDS_PER_CALL = 1_000

/** What became of an action on selected tasks. */
export interface SelectedCalls<Result> {
  readonly total: number
  /** One per task, of the calls that succeeded. */
  readonly results: readonly Result[]
  /** Number of tasks in the call that failed; without a response, the call may have succeeded. */
  readonly open: number
  /** Why the action ended early; null if it did not fail. */
  readonly failure: unknown
}

export async function selectInCalls<Result>(
  ids: readonly string[],
  select: (ids: readonly string[]) => Promise<{ readonly results: readonly Result[] }>,
): Promise<SelectedCalls<Result>> {
  const all: Result[] = []
  const done = { total: ids.length, results: all, open: 0, failure: null }
  for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
    const chunk = ids.slice(at, at + IDS_PER_CALL)
    try {
      all.push(...(await select(chunk)).results)
    } catch (failure) {
      return { ...done, open: chunk.length, failure }
    }
  }
  return done
}

/** Whether the master rejected the call without effect. After a 5xx the call may have taken effect. */
export const isRejected = (failure: unknown): failure is Problem =>
  failure instanceof Problem && failure.status !== null && failure.status < 500

/** Describes the tasks without a result: those of the failed call, and those that were not attempted. */
export function leftText({ total, results, open, failure }: SelectedCalls<unknown>): readonly string[] {
  const rest = total - results.length - open
  const texts: string[] = []
  if (failure !== null)
    texts.push(
      isRejected(failure)
        ? `${countText(open)} rejected by the master: ${failure.message.replace(/\.?$/, '.')}`
        : `The outcome of ${countText(open)} is unknown; the list is reloaded.`,
    )
  if (rest > 0) texts.push(`${countText(rest)} not attempted.`)
  return texts
}
