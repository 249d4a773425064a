/** @module dashboard/api/stale-keys  The names under which things are read, and which of them an event makes old. */
import type { FleetEvent } from './feed.ts'

/** What was read, then of what: `['queue', 'mailer']`. */
export type ReadKey = readonly [what: string, ...of: (string | number)[]]

/** What events told of the queues: kept with what was read, never asked for. */
export const toldKey: ReadKey = ['told-queues']

/** The reads that an event makes old. */
export function staleKeys({ name, data: { type = '', worker_id: id = '' } }: FleetEvent): readonly ReadKey[] | 'all' {
  if (name === 'reset') return 'all'
  if (name === 'queue.totals') return [['overview'], ['queue', type], ['queue-stats', type], ['dead', type]]
  if (!name.startsWith('worker.')) return []
  const config: readonly ReadKey[] =
    name === 'worker.config_changed' || name === 'worker.config_applied' ? [['history', type, id]] : []
  return [['overview'], ['worker', type, id], ...config]
}
