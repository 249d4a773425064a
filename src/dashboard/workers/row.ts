/** @module dashboard/workers/row  A row of the worker list: the record with `view=summary` (D47). */
import type { Stats, WorkerBody } from '../../protocol/index.ts'

export interface WorkerRow extends Omit<WorkerBody, 'hardware' | 'current_stats'> {
  readonly hardware: { readonly hostname: string }
  readonly current_stats: Omit<Stats, 'metrics' | 'per_slot'> | null
}

export const keyOf = ({
  automation_type: type,
  worker_id: id,
}: Pick<WorkerBody, 'automation_type' | 'worker_id'>): string => `${type}/${id}`
