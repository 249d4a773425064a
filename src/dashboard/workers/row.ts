/** @module dashboard/workers/row  A row of the worker list: the record with `view=summary` (D47). */
import type { Stats, WorkerBody } from '../../protocol/index.ts'

export interface WorkerRow extends Omit<WorkerBody, 'hardware' | 'current_stats'> {
  readonly hardware: { readonly hostname: string }
  readonly current_stats: Omit<Stats, 'metrics' | 'per_slot'> | null
  /** Unix seconds, if the row may be older than the last response: what it says was so at this time. */
  readonly read_at?: number
}

export const keyOf = ({
  automation_type: type,
  worker_id: id,
}: Pick<WorkerBody, 'automation_type' | 'worker_id'>): string => `${type}/${id}`

/** Returns the current statistics; null for an offline worker, because its statistics are outdated. */
export const liveStats = ({ connected, current_stats: stats }: WorkerRow): WorkerRow['current_stats'] =>
  connected ? stats : null
