/**
 * @module dashboard/dead/actions
 * Replays or removes exactly the dead tasks that were shown (D50). Their IDs are sent in sequential calls of 1,000;
 * tasks that died later are not affected. The first failed call ends the action: without a response, the outcome of its
 * tasks is unknown and the list is reloaded.
 */
import type { SelectedBody } from '../../protocol/index.ts'
import { Problem } from '../api/problem.ts'
import { countText, plural } from '../components/numbers.ts'

export type DeadAction = 'replay' | 'remove'

/** The action and tasks to confirm. */
export interface ActionToConfirm {
  readonly action: DeadAction
  readonly ids: readonly string[]
}

const IDS_PER_CALL = 1_000

export interface Tally {
  readonly action: DeadAction
  readonly total: number
  /** Number of tasks replayed or removed. */
  readonly done: number
  /** Number of tasks that were no longer dead when the call arrived. */
  readonly notDead: number
  /** Number of tasks in the call that failed; without a response, the call may have succeeded. */
  readonly open: number
  readonly stopped: boolean
  /** Why the action ended early; null if it did not fail. */
  readonly failure: unknown
}

export interface DeadActionDeps {
  readonly action: DeadAction
  readonly ids: readonly string[]
  readonly select: (body: {
    readonly action: DeadAction
    readonly task_ids: readonly string[]
  }) => Promise<SelectedBody>
  readonly report: (tally: Tally) => void
  /** Aborting stops before the next call; calls already sent are not cancelled. */
  readonly signal: AbortSignal
}

export async function actOnDead({ action, ids, select, report, signal }: DeadActionDeps): Promise<Tally> {
  let tally: Tally = { action, total: ids.length, done: 0, notDead: 0, open: 0, stopped: false, failure: null }
  report(tally)
  for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
    if (signal.aborted) return { ...tally, stopped: true }
    const chunk = ids.slice(at, at + IDS_PER_CALL)
    try {
      tally = counted(tally, await select({ action, task_ids: chunk }))
    } catch (failure) {
      return { ...tally, open: chunk.length, failure }
    }
    report(tally)
  }
  return tally
}

function counted(tally: Tally, { results }: SelectedBody): Tally {
  const notDead = results.filter(({ outcome }) => outcome === 'not_dead').length
  return { ...tally, done: tally.done + results.length - notDead, notDead: tally.notDead + notDead }
}

const DONE: Readonly<Record<DeadAction, string>> = { replay: 'requeued', remove: 'removed' }

/** Whether the master rejected the call without effect. After a 5xx the call may have taken effect. */
const isRejected = (failure: unknown): boolean =>
  failure instanceof Problem && failure.status !== null && failure.status < 500

/** Describes what happened to the tasks of the failed call; empty if no call failed. */
function failureText(failure: unknown, open: number): string {
  if (failure === null) return ''
  if (isRejected(failure)) return `${countText(open)} rejected by the master.`
  return `The outcome of ${countText(open)} is unknown; the list is reloaded.`
}

/** Summarizes the outcome in one or more sentences. */
export function tallyText({ action, total, done, notDead, open, stopped, failure }: Tally): string {
  const rest = total - done - notDead - open
  return [
    `${plural(done, 'task')} ${DONE[action]}.`,
    notDead === 0 ? '' : `${plural(notDead, 'was', 'were')} no longer dead.`,
    failureText(failure, open),
    rest === 0 ? '' : `${countText(rest)} not attempted${stopped ? ': stopped by you' : ''}.`,
  ]
    .filter((part) => part !== '')
    .join(' ')
}
