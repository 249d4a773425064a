/**
 * @module master/metrics/worker-facts
 * Reads from stored workers what explanations need. Those without a problem are most of a fleet, and keep
 * nothing in memory.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { WorkerFacts } from '../../diagnosis/index.ts'
import { RESERVED_METRICS, toSeconds, type JsonObject } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import { baseConfig, reservedValue, summaryOf } from '../registry/index.ts'
import type { TypeNumbers, WorkerNumbers } from './fleet-snapshot.ts'

const MAX_ERROR_CHARS = 512

/** Reads the workers of one type. */
export class WorkerFactsReader {
  readonly #entry: CatalogEntry
  /** By the text of the config, because most workers have the same one. */
  readonly #configs = new Map<string, JsonObject>()

  constructor(entry: CatalogEntry) {
    this.#entry = entry
  }

  /** @returns null for a connected worker that has no error and the newest config. */
  ofProblem(row: WorkerRow): WorkerFacts | null {
    const { connected, draining, state, lastError, appliedGen, config, stats } = row
    const isBehind = appliedGen !== null && appliedGen < config.gen
    if (connected && !draining && state !== 'ERROR' && state !== 'DRAINING' && !isBehind && lastError === null)
      return null
    return {
      worker_id: row.id,
      automation_type: row.type,
      connected,
      ended: row.ended,
      state,
      state_since: toSeconds(row.stateSinceMs),
      draining,
      last_error: lastError === null ? null : truncateError(lastError, MAX_ERROR_CHARS),
      config: this.#configOf(config.config),
      config_gen: config.gen,
      applied_config_gen: appliedGen,
      refused_config_gen: reservedValue(stats, RESERVED_METRICS.refusedConfigGen),
      config_changed_at: config.changedAtMs === null ? null : toSeconds(config.changedAtMs),
      config_changed_by: config.actor,
      current_stats: stats === null ? null : { slots: summaryOf(stats).slots },
    }
  }

  #configOf(text: string): JsonObject {
    const known = this.#configs.get(text)
    if (known !== undefined) return known
    const config = baseConfig(this.#entry, text)
    this.#configs.set(text, config)
    return config
  }
}

/**
 * Returns the facts of all workers of a type. Those of a worker without a problem follow from its state: an IDLE worker
 * is not enabled, or has no slots.
 */
export function factsOf({ type, workers }: TypeNumbers): readonly WorkerFacts[] {
  return workers.map((worker) => worker.facts ?? healthyFacts(type, worker))
}

function healthyFacts(type: string, { id, state, stats }: WorkerNumbers): WorkerFacts {
  return {
    worker_id: id,
    automation_type: type,
    connected: true,
    ended: false,
    state,
    state_since: 0,
    draining: false,
    last_error: null,
    config: { enabled: state !== 'IDLE', slots: stats?.slots ?? 1 },
    config_gen: 1,
    applied_config_gen: 1,
    refused_config_gen: null,
    config_changed_at: null,
    config_changed_by: null,
    current_stats: stats === null ? null : { slots: stats.slots },
  }
}
