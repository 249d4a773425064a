/**
 * @module diagnosis/failing-workers
 * Finds the workers that fail their tasks, and how much they matter.
 *
 * A worker fails its tasks if at least half of its runs in the last minute failed, and at least three, or if its state
 * is ERROR: the last run of each slot failed. The state is known within a second, the counts after some seconds.
 */
import type { RunsBody } from '../protocol/index.ts'
import { runningSlots, takesTasks, type WorkerFacts } from './worker-facts.ts'

type WorkerRuns = RunsBody['workers'][number]

export interface FailingWorker {
  readonly worker: WorkerFacts
  /** Its runs; null if none are known of its present config. */
  readonly runs: WorkerRuns | null
}

const MIN_FAILED = 3
const MIN_SHARE = 0.5
/** Failing workers are decisive from this share of the runs of the type on, or of its workers. */
const DECISIVE_SHARE = 0.05

/**
 * @param workers Those of one type.
 * @param runs null if they are not known, as with a master of an earlier release.
 * @returns those that take tasks and fail them, the most failed runs first.
 */
export function findFailing(workers: readonly WorkerFacts[], runs: RunsBody | null): readonly FailingWorker[] {
  const byId = new Map(runs?.workers.map((each) => [each.worker_id, each]))
  return workers
    .flatMap((worker): readonly FailingWorker[] => {
      const known = knownRuns(worker, byId.get(worker.worker_id))
      return takesTasks(worker) && isFailing(worker, known) ? [{ worker, runs: known }] : []
    })
    .toSorted((a, b) => failedOf(b) - failedOf(a))
}

/** Runs under an earlier config say nothing about the present one. */
export function knownRuns(worker: WorkerFacts, runs: WorkerRuns | undefined): WorkerRuns | null {
  if (runs === undefined || runs.done + runs.failed === 0) return null
  return runs.config_gen === worker.config_gen ? runs : null
}

export function isFailing({ state }: WorkerFacts, runs: WorkerRuns | null): boolean {
  if (state === 'ERROR') return true
  return runs !== null && runs.failed >= MIN_FAILED && runs.failed >= MIN_SHARE * (runs.failed + runs.done)
}

/** Whether a worker in ERROR could not start a slot, so that it takes no tasks. */
export const hasNoSlot = (worker: WorkerFacts): boolean => worker.state === 'ERROR' && runningSlots(worker) === 0

const failedOf = ({ runs }: FailingWorker): number => runs?.failed ?? 0

/** Whether failures explain the state of the queue better than the number of slots does. */
export function isDecisive(failing: readonly FailingWorker[], able: number, runs: RunsBody | null): boolean {
  if (failing.length === 0) return false
  if (failing.length >= DECISIVE_SHARE * able) return true
  const failed = failing.reduce((sum, each) => sum + failedOf(each), 0)
  return failed > 0 && failed >= DECISIVE_SHARE * ((runs?.done ?? 0) + (runs?.failed ?? 0))
}
