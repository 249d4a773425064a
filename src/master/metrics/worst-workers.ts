/**
 * @module master/metrics/worst-workers
 * Finds the workers for which a revision works worst: those in ERROR, those that refuse their config, and those with
 * the most failed runs under it (D138).
 */
import { RESERVED_METRICS, type RevisionsBody } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import { reservedValue } from '../registry/index.ts'

export type WorstWorker = RevisionsBody['revisions'][number]['worst'][number]

/** What is wrong with one worker. */
export interface Trouble {
  readonly revision: string
  readonly reason: WorstWorker['reason']
  readonly message: string
  /** The larger, the worse. */
  readonly rank: number
}

/** Number of workers that a revision lists. */
const WORST_WORKERS = 10
const MAX_MESSAGE_CHARS = 200
/** Failure shares are below 1. */
const RANK = { error: 2, config_refused: 1 } as const
/** A share of few runs says little: 1 failed run of 1 ranks behind 30 of 60. */
const PRIOR_RUNS = 5

/** @returns null for a worker without a revision, or without trouble. */
export function troubleOf({ configRevision, state, lastError, config, stats }: WorkerRow): Trouble | null {
  if (configRevision === null) return null
  const revision = configRevision.slice(0, configRevision.indexOf('/'))
  const trouble = (reason: WorstWorker['reason'], message: string, rank: number): Trouble => ({
    revision,
    reason,
    message: truncateError(message, MAX_MESSAGE_CHARS),
    rank,
  })
  if (state === 'ERROR') return trouble('error', lastError ?? 'the worker reported no error', RANK.error)
  if (reservedValue(stats, RESERVED_METRICS.refusedConfigGen) === config.gen)
    return trouble('config_refused', `the worker refuses config_gen ${config.gen}`, RANK.config_refused)
  const failed = reservedValue(stats, RESERVED_METRICS.runsFailed) ?? 0
  if (failed === 0 || reservedValue(stats, RESERVED_METRICS.configGen) !== config.gen) return null
  const runs = failed + (reservedValue(stats, RESERVED_METRICS.runsOk) ?? 0)
  const percent = Math.round((100 * failed) / runs)
  return trouble('failures', `${percent} % of ${runs} runs failed`, failed / (runs + PRIOR_RUNS))
}

/** @returns the worst workers by revision, the worst first. */
export function worstByRevision(
  workers: Iterable<{ readonly id: string; readonly trouble: Trouble | null }>,
): ReadonlyMap<string, readonly WorstWorker[]> {
  const found = new Map<string, { readonly id: string; readonly trouble: Trouble }[]>()
  for (const { id, trouble } of workers) {
    if (trouble === null) continue
    const list = found.get(trouble.revision) ?? []
    found.set(trouble.revision, list)
    const at = list.findIndex((each) => each.trouble.rank < trouble.rank)
    list.splice(at === -1 ? list.length : at, 0, { id, trouble })
    if (list.length > WORST_WORKERS) list.pop()
  }
  return new Map(
    [...found].map(([revision, list]) => [
      revision,
      list.map(({ id, trouble: { reason, message } }) => ({ worker_id: id, reason, message })),
    ]),
  )
}
