/** @module diagnosis/worker-facts  What an explanation reads from a worker record. */
import type { WorkerBody } from '../protocol/index.ts'

/** The fields of a worker record that an explanation needs. All of them are in the summary view (D47). */
export type WorkerFacts = Pick<
  WorkerBody,
  | 'worker_id'
  | 'automation_type'
  | 'connected'
  | 'ended'
  | 'departure'
  | 'state'
  | 'state_since'
  | 'draining'
  | 'last_error'
  | 'config'
  | 'config_gen'
  | 'applied_config_gen'
  | 'refused_config_gen'
  | 'config_changed_at'
  | 'config_changed_by'
> & { readonly current_stats: { readonly slots: number } | null }

export const isEnabled = ({ config }: WorkerFacts): boolean => config['enabled'] === true
export const wantedSlots = ({ config }: WorkerFacts): number =>
  typeof config['slots'] === 'number' ? config['slots'] : 0
export const runningSlots = (worker: WorkerFacts): number => worker.current_stats?.slots ?? wantedSlots(worker)
export const isDraining = ({ draining, state }: WorkerFacts): boolean => draining || state === 'DRAINING'
/** Whether the worker reserves tasks. A worker in ERROR does: its runs failed. */
export const takesTasks = (worker: WorkerFacts): boolean =>
  worker.connected && isEnabled(worker) && wantedSlots(worker) > 0 && !isDraining(worker)
