/**
 * @module dashboard/components/select-calls
 * Acts on exactly the tasks that were shown (D50, D109). Their IDs are sent in sequential calls of 1,000. The first
 * failed call ends the action: without a response, the outcome of its tasks is unknown and the list is reloaded.
 */
import { Problem } from '../api/problem.ts'
import { countText } from './numbers.ts'

const IDS_PER_CALL = 1_000

/** How far an action on selected tasks has come. */
export interface SelectedCalls<Result> {
  readonly total: number
  /** One per task, of the calls so far. */
  readonly results: readonly Result[]
  /** Number of tasks in the call that failed; without a response, the call may have succeeded. */
  readonly open: number
  readonly stopped: boolean
  /** Why the action ended early; null if it did not fail. */
  readonly failure: unknown
}

export interface SelectCallsDeps<Result> {
  readonly ids: readonly string[]
  readonly select: (ids: readonly string[]) => Promise<{ readonly results: readonly Result[] }>
  readonly report: (calls: SelectedCalls<Result>) => void
  /** Aborting stops before the next call; calls already sent are not cancelled. */
  readonly signal: AbortSignal
}

export async function selectInCalls<Result>(deps: SelectCallsDeps<Result>): Promise<SelectedCalls<Result>> {
  const { ids, select, report, signal } = deps
  let calls: SelectedCalls<Result> = { total: ids.length, results: [], open: 0, stopped: false, failure: null }
  report(calls)
  for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
    if (signal.aborted) return { ...calls, stopped: true }
    const chunk = ids.slice(at, at + IDS_PER_CALL)
    try {
      const { results } = await select(chunk)
      calls = { ...calls, results: [...calls.results, ...results] }
    } catch (failure) {
      return { ...calls, open: chunk.length, failure }
    }
    report(calls)
  }
  return calls
}

/** Whether the master rejected the call without effect. After a 5xx the call may have taken effect. */
const isRejected = (failure: unknown): boolean =>
  failure instanceof Problem && failure.status !== null && failure.status < 500

/** Describes the tasks without a result: those of the failed call, and those that were not attempted. */
export function leftText({ total, results, open, stopped, failure }: SelectedCalls<unknown>): readonly string[] {
  const rest = total - results.length - open
  const texts: string[] = []
  if (failure !== null)
    texts.push(
      isRejected(failure)
        ? `${countText(open)} rejected by the master.`
        : `The outcome of ${countText(open)} is unknown; the list is reloaded.`,
    )
  if (rest > 0) texts.push(`${countText(rest)} not attempted${stopped ? ': stopped by you' : ''}.`)
  return texts
}
