/** @module dashboard/diagnosis/summary-text  Summarizes the state of the fleet in one sentence. */
import type { OverviewBody } from '../../protocol/index.ts'
import { countText, plural } from '../components/numbers.ts'
import { PROBLEM_RANK } from '../../diagnosis/index.ts'
import type { Attention } from './attention.ts'

/**
 * One sentence with the two most severe kinds of problems, or that there are none.
 *
 * @param acknowledged The number of problems that are acknowledged, and not in `attention`.
 */
export function fleetSummaryText(
  { automations }: OverviewBody,
  attention: readonly Attention[],
  acknowledged = 0,
): string {
  const counts = Object.values(automations).map(({ workers }) => workers)
  const total = counts.reduce((sum, workers) => sum + workers.total, 0)
  const kinds = [...new Set([...attention.map(({ kind }) => kind), ...PROBLEM_RANK])]
  const clauses = kinds.flatMap((kind) => clauseOf(attention.filter((each) => each.kind === kind)))
  if (clauses.length > 0)
    return `Attention: ${clauses.slice(0, 2).join(' and ')}${clauses.length > 2 ? ', and more' : ''}.`
  if (acknowledged > 0) return `No problems except ${plural(acknowledged, 'acknowledged one')}.`
  const offline = total - counts.reduce((sum, workers) => sum + workers.connected, 0)
  if (total === 0) return 'No worker has registered yet.'
  if (offline > 0)
    return `No problems: ${countText(total - offline)} of ${plural(total, 'worker is', 'workers are')} connected.`
  return total === 1
    ? 'The only worker is connected and up to date.'
    : `All ${countText(total)} workers are connected and up to date.`
}

function clauseOf(items: readonly Attention[]): readonly string[] {
  const [first] = items
  return first === undefined ? [] : [clauseFor(first, items)]
}

function clauseFor(first: Attention, items: readonly Attention[]): string {
  const count = items.reduce((sum, each) => sum + each.count, 0)
  const isOne = items.length === 1
  const queues = isOne ? `${first.subject}'s queue` : plural(items.length, 'queue')
  const [has, is] = isOne ? (['has', 'is'] as const) : (['have', 'are'] as const)
  switch (first.kind) {
    case 'unserved':
      return `${queues} ${has} no worker to take tasks`
    case 'rollout':
      return `${plural(count, 'rollout needs', 'rollouts need')} attention`
    case 'paused':
      return `${queues} ${is} paused`
    case 'error':
      return `${plural(count, 'worker is', 'workers are')} in ERROR`
    case 'failing':
      return `${isOne ? `runs of ${first.subject}` : `runs of ${plural(items.length, 'type')}`} fail`
    case 'offline':
      return `${plural(count, 'worker is', 'workers are')} offline`
    case 'behind':
      return `${plural(count, 'worker is', 'workers are')} behind the saved config`
    case 'old':
      return `${queues} ${has} tasks waiting over 5 min`
    case 'dead':
      return `${plural(count, 'task is', 'tasks are')} dead`
    case 'stream':
      return `${isOne ? `${first.subject}'s stream` : `${items.length} streams`} ${is} nearly full`
  }
}
