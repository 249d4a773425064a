/** @module dashboard/activity/texts  Words for the entries of the audit log. */
import type { AuditEntry, AuditOutcome } from '../../protocol/index.ts'
import { plural } from '../components/numbers.ts'
import { formatRoute } from '../route.ts'

/** The kinds of actions by which the page filters. */
export const ACTION_KINDS: Readonly<Record<string, string>> = {
  config: 'Configs',
  worker: 'Workers',
  task: 'Tasks',
  dead: 'Dead tasks',
  queue: 'Queues',
  output: 'Output',
  operation: 'Operations',
  attention: 'Acknowledgements',
  pool: 'Pools',
  revision: 'Revisions',
  enrolment: 'Enrolments',
  rollout: 'Rollouts',
}

const ACTIONS: Readonly<Record<string, string>> = {
  'attention.acknowledge': 'Acknowledged a problem',
  'attention.restore': 'Ended an acknowledgement',
  'config.apply': 'Changed configs in bulk',
  'config.change': 'Changed a config',
  'dead.clear': 'Removed all dead tasks',
  'dead.remove': 'Removed dead tasks',
  'dead.replay': 'Replayed dead tasks',
  'enrolment.delete': 'Deleted an enrolment rule',
  'enrolment.put': 'Wrote an enrolment rule',
  'operation.cancel': 'Cancelled an operation',
  'operation.create': 'Created an operation',
  'operation.undo': 'Undid an operation',
  'output.pop': 'Removed output',
  'pool.release': 'Ended a pool claim',
  'queue.pause': 'Paused the queue',
  'queue.resume': 'Resumed the queue',
  'revision.put': 'Wrote a revision',
  'rollout.delete': 'Deleted a rollout report',
  'rollout.put': 'Reported a rollout',
  'task.cancel': 'Cancelled tasks',
  'worker.claim': 'Claimed a worker',
  'worker.drain': 'Drained a worker',
  'worker.forget': 'Forgot a worker',
  'worker.unclaim': 'Released a worker',
}

/** The action in words, or as it is named if a later master has added it. */
export const actionText = ({ action }: AuditEntry): string => ACTIONS[action] ?? action

/** The changed fields, how many things were changed, and how many calls the entry stands for. */
export function detailText({ changed, count, calls, outcome }: AuditEntry): string {
  return [
    ...(changed.length === 0 ? [] : [changed.join(', ')]),
    ...(outcome === 'done' && count !== 1 ? [plural(count, 'item')] : []),
    ...(calls > 1 ? [plural(calls, 'call')] : []),
  ].join(' · ')
}

interface OutcomeText {
  readonly tone: string
  readonly mark: string
  readonly word: string
}

const OUTCOMES: Readonly<Record<AuditOutcome, OutcomeText>> = {
  done: { tone: 'good', mark: '✓', word: 'done' },
  refused: { tone: 'warn', mark: '⊘', word: 'refused' },
  failed: { tone: 'bad', mark: '✕', word: 'failed' },
  unknown: { tone: 'warn', mark: '?', word: 'outcome unknown' },
}

export const outcomeOf = ({ outcome }: AuditEntry): OutcomeText => OUTCOMES[outcome]

/** The page of the changed object; null if it has none. */
export function hashOf({ action, type, object }: AuditEntry): string | null {
  if (object !== null && action.startsWith('pool.')) return formatRoute({ page: 'pools', name: object })
  if (type === null) return null
  if (/^(?:config\.change|worker\.)/.test(action) && object !== null)
    return formatRoute({ page: 'worker', type, id: object })
  if (action.startsWith('task.') && object !== null) return formatRoute({ page: 'task', type, id: object })
  if (action.startsWith('operation.') && object !== null) return formatRoute({ page: 'operation', type, id: object })
  if (action.startsWith('dead.')) return formatRoute({ page: 'tasks', type, tab: 'dead' })
  if (action.startsWith('queue.')) return formatRoute({ page: 'tasks', type })
  if (action.startsWith('output.')) return formatRoute({ page: 'output', type })
  return null
}
