/** @module test/diagnosis/facts  Worker records, queue totals and runs for tests of explanations. */
import type { RunsBody } from '../../src/protocol/index.ts'
import type { WorkerFacts } from '../../src/diagnosis/index.ts'

export const NOW = 10_000
export const worker = (part: Partial<WorkerFacts> = {}): WorkerFacts => ({
  worker_id: 'w-1',
  automation_type: 'mailer',
  connected: true,
  state: 'RUNNING',
  state_since: NOW - 120,
  draining: false,
  last_error: null,
  config: { enabled: true, slots: 2 },
  config_gen: 3,
  applied_config_gen: 3,
  config_changed_at: NOW - 600,
  config_changed_by: null,
  current_stats: { slots: 2 },
  ...part,
})
export const queue = (part: object = {}) => ({
  high: 0,
  normal: 5,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
  ...part,
})

type WorkerRuns = RunsBody['workers'][number]

/** The runs of a worker that fails everything, under the config of `worker`. */
export const workerRuns = (part: Partial<WorkerRuns> = {}): WorkerRuns => ({
  worker_id: 'w-1',
  done: 0,
  failed: 30,
  died: 10,
  window_seconds: 60,
  config_gen: 3,
  config_done: 0,
  config_failed: 300,
  config_changed_at: NOW - 600,
  config_changed_by: null,
  config_changed: [],
  last_error: 'boom',
  last_error_runs: null,
  ...part,
})

export const runs = (part: Partial<RunsBody> = {}): RunsBody => ({
  ts: NOW,
  window_seconds: 60,
  done: 0,
  failed: 0,
  died: 0,
  workers: [],
  ...part,
})
