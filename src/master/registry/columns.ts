/**
 * @module master/registry/columns
 * Renders stored workers as columns (D161), from the same values as their records in the summary view.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import {
  RESERVED_METRICS,
  toSeconds,
  type JsonObject,
  type JsonText,
  type WorkerColumns,
} from '../../protocol/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import { baseConfig, departureBody, hostOf, reservedValue, summaryOf } from './record.ts'

const MAX_ERROR_CHARS = 800

/** @returns the age in whole seconds, 0 if the time is after `ts`. */
export const ageOf = (ts: number, atMs: number): number => Math.max(0, Math.round(ts - toSeconds(atMs)))
/** Rounds to what a list shows: one decimal below 100, else none. */
export const rounded = (n: number): number => (Math.abs(n) >= 100 ? Math.round(n) : Math.round(n * 10) / 10)

/** @param ts Unix seconds, before which the ages are. */
export function workerColumns(rows: readonly WorkerRow[], entry: CatalogEntry, ts: number): WorkerColumns {
  const configs = new Map<JsonText, JsonObject>()
  const configOf = ({ config: { config } }: WorkerRow): JsonObject => {
    const known = configs.get(config) ?? baseConfig(entry, config)
    configs.set(config, known)
    return known
  }
  const age = (atMs: number): number => ageOf(ts, atMs)
  const ageOrNull = (atMs: number | null): number | null => (atMs === null ? null : age(atMs))
  const stats = rows.map((row) => (row.stats === null ? null : summaryOf(row.stats)))
  return {
    worker_id: rows.map(({ id }) => id),
    state: rows.map(({ state }) => state),
    connected: rows.map(({ connected }) => connected),
    ended: rows.map(({ ended }) => ended),
    draining: rows.map(({ draining }) => draining),
    departure: rows.map((row) => departureBody(row)?.kind ?? null),
    seen_age: rows.map(({ lastSeenAtMs }) => age(lastSeenAtMs)),
    state_age: rows.map(({ stateSinceMs }) => age(stateSinceMs)),
    registered_age: rows.map(({ registeredAtMs }) => age(registeredAtMs)),
    last_error: rows.map(({ lastError }) => lastError?.slice(0, MAX_ERROR_CHARS) ?? null),
    config_gen: rows.map(({ config }) => config.gen),
    applied_config_gen: rows.map(({ appliedGen }) => appliedGen),
    refused_config_gen: rows.map((row) => reservedValue(row.stats, RESERVED_METRICS.refusedConfigGen)),
    config_changed_age: rows.map(({ config }) => ageOrNull(config.changedAtMs)),
    config_changed_by: rows.map(({ config }) => config.actor),
    config_revision: rows.map(({ configRevision }) => configRevision),
    managed_by: rows.map(({ managedBy }) => managedBy),
    tasks_held: rows.map((row) => reservedValue(row.stats, RESERVED_METRICS.tasksHeld)),
    hostname: rows.map(({ hardware }) => hostOf(hardware)),
    labels: rows.map(({ labels }) => (labels === null ? {} : (JSON.parse(labels) as Record<string, string>))),
    config: rows.map(configOf),
    slots: stats.map((each) => each?.slots ?? null),
    cpu_pct: stats.map((each) => (each === null ? null : rounded(each.cpu_pct))),
    rss_mb: stats.map((each) => (each === null ? null : rounded(each.rss_mb))),
    stats_age: stats.map((each) => (each === null ? null : ageOf(ts, each.ts * 1_000))),
  }
}
