/**
 * @module diagnosis/explain-failures
 * Explains the failures of a queue: the worker that fails most with its error and config change, then the others; or
 * that runs fail on all workers alike, which no single worker causes.
 */
import type { RunsBody } from '../protocol/index.ts'
import type { Cause } from './cause.ts'
import { describeFailing, mostFrequentError, namesText, withError } from './failing-text.ts'
import { findFailing, hasNoSlot, isDecisive, type FailingWorker } from './failing-workers.ts'
import { countText, plural } from './texts.ts'
import type { WorkerFacts } from './worker-facts.ts'

export interface FailureFacts {
  readonly type: string
  /** Those that take tasks. */
  readonly able: readonly WorkerFacts[]
  readonly runs: RunsBody | null
  readonly nowSeconds: number
}

export interface Failures {
  /** Empty if nothing fails. */
  readonly causes: readonly Cause[]
  /** Whether they explain the state of the queue. */
  readonly isDecisive: boolean
}

/** Without a failing worker, failures are reported from this share and number of failed runs on. */
const MIN_SHARE = 0.2
const MIN_FAILED = 10

export function explainFailures({ type, able, runs, nowSeconds }: FailureFacts): Failures {
  const failing = findFailing(able, runs)
  if (failing.length === 0) {
    const cause = spreadCause(type, runs)
    return { causes: cause === null ? [] : [cause], isDecisive: cause !== null }
  }
  if (!isDecisive(failing, able.length, runs)) return { causes: [fewCause(type, failing)], isDecisive: false }
  const isEach = failing.length === able.length && failing.length > 1
  const causes = isEach ? [eachCause(type, failing, nowSeconds)] : worstCauses(type, failing, nowSeconds)
  return { causes, isDecisive: true }
}

function worstCauses(type: string, failing: readonly FailingWorker[], nowSeconds: number): readonly Cause[] {
  const [worst, ...others] = failing
  if (worst === undefined) return []
  const { does, error, evidence, fixes } = describeFailing(worst, nowSeconds)
  const text = [withError(`${worst.worker.worker_id} ${does}`, error), evidence].filter(Boolean).join(' ')
  return [{ tone: 'bad', text, fixes }, ...(others.length === 0 ? [] : [othersCause(type, others)])]
}

function othersCause(type: string, others: readonly FailingWorker[]): Cause {
  const names = namesText(others.map(({ worker }) => worker.worker_id))
  const verb = others.length === 1 ? 'worker fails its' : 'workers fail their'
  return {
    tone: 'bad',
    text: `${countText(others.length)} more ${verb} tasks: ${names}.`,
    fixes: [{ kind: 'list_workers', type, filter: 'failing' }],
  }
}

/** If all workers fail, the cause is more likely what they have in common than the config of one of them. */
function eachCause(type: string, failing: readonly FailingWorker[], nowSeconds: number): Cause {
  const [worst] = failing
  const error = mostFrequentError(failing.map(({ worker }) => worker))
  const fail = failing.every(({ worker }) => hasNoSlot(worker)) ? 'cannot start their slots' : 'fail their tasks'
  const head = withError(`All ${countText(failing.length)} workers that take tasks ${fail}`, error)
  if (worst === undefined) return { tone: 'bad', text: head, fixes: [] }
  const { does, evidence, fixes } = describeFailing(worst, nowSeconds)
  return {
    tone: 'bad',
    text: [head, `${worst.worker.worker_id} ${does}.`, evidence].filter(Boolean).join(' '),
    fixes: [{ kind: 'list_workers', type, filter: 'failing' }, ...fixes.filter(({ kind }) => kind !== 'drain_worker')],
  }
}

/** A few workers of many fail: too few to explain the state of the queue. */
function fewCause(type: string, failing: readonly FailingWorker[]): Cause {
  const [first] = failing
  const names = failing.map(({ worker }) => worker.worker_id)
  return {
    tone: 'warn',
    text: withError(
      failing.length === 1
        ? `${namesText(names)} fails its tasks`
        : `${countText(failing.length)} workers fail their tasks (${namesText(names)})`,
      mostFrequentError(failing.map(({ worker }) => worker)),
    ),
    fixes:
      failing.length === 1 && first !== undefined
        ? [{ kind: 'open_worker', type, worker: first.worker.worker_id }]
        : [{ kind: 'list_workers', type, filter: 'failing' }],
  }
}

/** Runs fail, but on no worker in particular. */
function spreadCause(type: string, runs: RunsBody | null): Cause | null {
  const { done = null, failed = null, died } = runs ?? {}
  if (failed === null || done === null || failed < MIN_FAILED || failed < MIN_SHARE * (failed + done)) return null
  const percent = Math.round((100 * failed) / (failed + done))
  const deaths = died == null || died === 0 ? '' : ` ${plural(died, 'task')} died.`
  const [example] = runs?.workers.filter(({ last_error: error }) => error !== null) ?? []
  const error = example === undefined ? '' : ` The newest error of ${withError(example.worker_id, example.last_error)}`
  return {
    tone: 'bad',
    text:
      `${percent} % of the runs failed in the last minute (${countText(failed)} of ${countText(failed + done)}), ` +
      `and no worker stands out.${deaths}${error}`,
    fixes: [
      { kind: 'list_workers', type, filter: 'failing' },
      { kind: 'list_dead', type },
    ],
  }
}
