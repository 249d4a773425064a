/** @module dashboard/tasks/cancel-text  Tallies what became of tasks that were to be cancelled (D109). */
import type { CancelOutcome, CancelSelectedBody } from '../../protocol/index.ts'
import { plural } from '../components/numbers.ts'
import { leftText, type SelectedCalls } from '../components/select-calls.ts'

const OTHERS: readonly (readonly [CancelOutcome, string])[] = [
  ['done', 'completed before'],
  ['dead', 'dead and not removed'],
  ['expired', 'past the time to live'],
  ['not_found', 'no longer stored'],
]

/** Summarizes the outcomes in one or more sentences. */
export function cancelText(calls: SelectedCalls<CancelSelectedBody['results'][number]>): string {
  const countOf = (wanted: CancelOutcome): number => calls.results.filter(({ outcome }) => outcome === wanted).length
  const others = OTHERS.map(([outcome, words]) => [countOf(outcome), words] as const).filter(([count]) => count > 0)
  return [
    `${plural(countOf('cancelled'), 'task')} cancelled.`,
    ...others.map(([count, words]) => `${plural(count, 'was', 'were')} ${words}.`),
    ...leftText(calls),
  ].join(' ')
}
