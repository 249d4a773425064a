/** @module dashboard/api/stale-keys  Defines the query keys and which of them an event makes stale. */
import type { FleetEvent } from './feed.ts'

/** A resource, then its parameters: `['queue', 'mailer']`. */
export type ReadKey = readonly [what: string, ...of: (string | number)[]]

/** Cache key of the queue totals from events; never fetched. */
export const queueTotalsKey: ReadKey = ['queue-totals']

/** The keys that an event makes stale. */
export function staleKeys({ name, data: { type = '', worker_id: id = '' } }: FleetEvent): readonly ReadKey[] | 'all' {
  if (name === 'reset') return 'all'
  if (name === 'queue.totals') return [['overview'], ['queue', type], ['queue-stats', type]]
  if (name === 'queue.paused' || name === 'queue.resumed') return [['overview'], ['queue', type]]
  if (name === 'rollout.changed') return [['overview'], ['rollouts', type], ['revisions', type]]
  if (!name.startsWith('worker.')) return []
  const config: readonly ReadKey[] =
    name === 'worker.config_changed' || name === 'worker.config_applied' ? [['history', type, id]] : []
  return [['overview'], ['worker', type, id], ...config]
}
