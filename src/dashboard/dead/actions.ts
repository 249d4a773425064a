/**
 * @module dashboard/dead/actions
 * Describes what became of dead tasks that were replayed or removed (D50). Tasks that died later are not affected.
 */
import type { SelectedBody } from '../../protocol/index.ts'
import { plural } from '../components/numbers.ts'
import { leftText, type SelectedCalls } from '../components/select-calls.ts'

export type DeadAction = 'replay' | 'remove'

/** The action and tasks to confirm. */
export interface ActionToConfirm {
  readonly action: DeadAction
  readonly ids: readonly string[]
}

const DONE: Readonly<Record<DeadAction, string>> = { replay: 'requeued', remove: 'removed' }

/** Summarizes the outcome in one or more sentences. */
export function tallyText(action: DeadAction, calls: SelectedCalls<SelectedBody['results'][number]>): string {
  const { results } = calls
  const notDead = results.filter(({ outcome }) => outcome === 'not_dead').length
  return [
    `${plural(results.length - notDead, 'task')} ${DONE[action]}.`,
    ...(notDead === 0 ? [] : [`${plural(notDead, 'was', 'were')} no longer dead.`]),
    ...leftText(calls),
  ].join(' ')
}
