/**
 * @module diagnosis/failing-problem
 * Finds a queue, or workers, whose runs fail although no worker is in ERROR: a worker is only in ERROR when the last
 * run of each slot failed.
 */
import type { RunsBody } from '../protocol/index.ts'
import { explainFailures } from './explain-failures.ts'
import { findFailing } from './failing-workers.ts'
import type { Problem } from './problems.ts'
import { takesTasks, type WorkerFacts } from './worker-facts.ts'

/** @returns null if runs do not fail, if too few fail to matter, or if the failing workers are in ERROR. */
export function findFailingRuns(
  type: string,
  workers: readonly WorkerFacts[],
  runs: RunsBody,
  nowSeconds: number,
): Problem | null {
  const able = workers.filter(takesTasks)
  const failing = findFailing(able, runs).map(({ worker }) => worker)
  if (failing.length > 0 && failing.every(({ state }) => state === 'ERROR')) return null
  const { causes, isDecisive } = explainFailures({ type, able, runs, nowSeconds })
  const [cause] = causes
  if (!isDecisive || cause === undefined) return null
  const [only] = failing
  return {
    kind: 'failing',
    item: 'failing',
    type,
    tone: 'bad',
    subject: failing.length === 1 && only !== undefined ? `${type}/${only.worker_id}` : type,
    text: cause.text,
    rate: null,
    since: null,
    count: failing.length,
    mark: null,
    affected: failing,
  }
}
