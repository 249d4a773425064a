/**
 * @module dashboard/dead/act
 * Replays or removes the dead tasks that were shown, and no other (D50): their ids go out in calls of 1,000, one after
 * the other, and what died later is left alone. The first call without an answer ends it: those tasks are unknown, and
 * the list is read again.
 */
import type { SelectedBody } from '../../protocol/index.ts'
import { Problem } from '../api/problem.ts'
import { countText, plural } from '../parts/numbers.ts'

export type DeadAction = 'replay' | 'remove'

/** What a person is asked about. */
export interface Chosen {
  readonly action: DeadAction
  readonly ids: readonly string[]
}

const IDS_PER_CALL = 1_000

export interface Tally {
  readonly action: DeadAction
  readonly asked: number
  /** Replayed or removed. */
  readonly done: number
  /** No longer dead when the call arrived. */
  readonly notDead: number
  /** Sent in a call that failed; without an answer they may be done. */
  readonly open: number
  readonly stopped: boolean
  /** Why it ended early. */
  readonly failure: unknown
}

export interface DeadActParts {
  readonly action: DeadAction
  readonly ids: readonly string[]
  readonly select: (body: {
    readonly action: DeadAction
    readonly task_ids: readonly string[]
  }) => Promise<SelectedBody>
  readonly report: (tally: Tally) => void
  /** Stops before the next call; what was sent is not taken back. */
  readonly signal: AbortSignal
}

export async function actOnDead({ action, ids, select, report, signal }: DeadActParts): Promise<Tally> {
  let tally: Tally = { action, asked: ids.length, done: 0, notDead: 0, open: 0, stopped: false, failure: null }
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

const DONE: Readonly<Record<DeadAction, string>> = { replay: 'went back to the queue', remove: 'removed' }

/** The master judged the call and did nothing of it. A 5xx may have come after the deed. */
const isRefusal = (failure: unknown): boolean =>
  failure instanceof Problem && failure.status !== null && failure.status < 500

/** What happened, in one sentence or several. */
export function tallyText({ action, asked, done, notDead, open, stopped, failure }: Tally): string {
  const rest = asked - done - notDead - open
  return [
    `${plural(done, 'task')} ${DONE[action]}.`,
    notDead === 0 ? '' : `${plural(notDead, 'was', 'were')} no longer dead.`,
    failure === null
      ? ''
      : isRefusal(failure)
        ? `${countText(open)} refused.`
        : `What became of ${countText(open)} is not known; the list is read again.`,
    rest === 0 ? '' : `${countText(rest)} ${stopped ? 'left alone: you stopped it' : 'not tried'}.`,
  ]
    .filter((part) => part !== '')
    .join(' ')
}
