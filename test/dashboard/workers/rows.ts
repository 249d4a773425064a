/** Rows of the list of workers. */
import type { WorkerRow } from '../../../src/dashboard/workers/row.ts'

export const NOW = 1_000_000

export function row(id: string, change: Partial<WorkerRow> = {}): WorkerRow {
  return {
    worker_id: id,
    automation_type: 'mailer',
    hardware: { hostname: 'node-12' },
    config: { enabled: true, slots: 2, max_attempts: 3, recycle_seconds: 0 },
    config_gen: 1,
    state: 'RUNNING',
    last_seen: NOW - 3,
    last_error: null,
    current_stats: { slots: 2, cpu_pct: 20, rss_mb: 100, ts: NOW - 3 },
    connected: true,
    registered_at: NOW - 100,
    applied_config_gen: 1,
    draining: false,
    managed_by: null,
    state_since: NOW - 50,
    config_changed_at: null,
    config_changed_by: null,
    config_revision: null,
    ...change,
  }
}
