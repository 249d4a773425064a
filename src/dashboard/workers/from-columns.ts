/** @module dashboard/workers/from-columns  Converts workers in columns (D161) into rows of the list. */
import type { HeartbeatColumns, WorkerColumns } from '../../protocol/index.ts'
import { keyOf, type WorkerRow } from './row.ts'

type StatsColumns = Pick<WorkerColumns, 'slots' | 'cpu_pct' | 'rss_mb' | 'stats_age'>

/** The value of a column in a row; the fallback if a master of another release sends a shorter column. */
const valueAt = <T>(column: readonly T[], n: number, fallback: T): T => column[n] ?? fallback

/** @param ts Unix seconds, before which the ages of the columns are. */
export function rowsOf(type: string, columns: WorkerColumns, ts: number): readonly WorkerRow[] {
  return columns.worker_id.map((id, n) => {
    const changedAge = valueAt(columns.config_changed_age, n, null)
    return {
      worker_id: id,
      automation_type: type,
      state: valueAt(columns.state, n, 'IDLE'),
      connected: valueAt(columns.connected, n, false),
      ended: valueAt(columns.ended, n, false),
      draining: valueAt(columns.draining, n, false),
      departure: departureOf(columns, n, ts),
      last_seen: ts - valueAt(columns.seen_age, n, 0),
      last_error: valueAt(columns.last_error, n, null),
      state_since: ts - valueAt(columns.state_age, n, 0),
      registered_at: ts - valueAt(columns.registered_age, n, 0),
      config_gen: valueAt(columns.config_gen, n, 0),
      applied_config_gen: valueAt(columns.applied_config_gen, n, null),
      refused_config_gen: valueAt(columns.refused_config_gen, n, null),
      config_changed_at: changedAge === null ? null : ts - changedAge,
      config_changed_by: valueAt(columns.config_changed_by, n, null),
      config_revision: valueAt(columns.config_revision, n, null),
      managed_by: valueAt(columns.managed_by, n, null),
      tasks_held: valueAt(columns.tasks_held, n, null),
      hardware: { hostname: valueAt(columns.hostname, n, '') },
      labels: valueAt(columns.labels, n, {}),
      config: valueAt(columns.config, n, {}),
      current_stats: statsOf(columns, n, ts),
      read_at: ts,
    }
  })
}

/** The columns have only its kind. A worker that is offline changed its state last when it departed. */
function departureOf(columns: WorkerColumns, n: number, ts: number): NonNullable<WorkerRow['departure']> | null {
  const kind = columns.departure?.[n]
  if (kind == null) return null
  return { kind, at: ts - valueAt(columns.state_age, n, 0), by: null, code: 0, reason: '' }
}

function statsOf(columns: StatsColumns, n: number, ts: number): WorkerRow['current_stats'] {
  const [slots, cpu, rss, age] = [columns.slots[n], columns.cpu_pct[n], columns.rss_mb[n], columns.stats_age[n]]
  if (slots == null || cpu == null || rss == null || age == null) return null
  return { slots, cpu_pct: cpu, rss_mb: rss, ts: ts - age }
}

/** What a heartbeat has changed in a row. */
export type Heartbeat = Pick<WorkerRow, 'last_seen' | 'current_stats'> & {
  readonly key: string
  readonly read_at: number
}

/** @param ts Unix seconds, before which the ages of the columns are. */
export function heartbeatsOf(type: string, columns: HeartbeatColumns, ts: number): readonly Heartbeat[] {
  return columns.worker_id.map((id, n) => ({
    key: keyOf({ automation_type: type, worker_id: id }),
    last_seen: ts - (columns.seen_age[n] ?? 0),
    current_stats: statsOf(columns, n, ts),
    read_at: ts,
  }))
}
