/**
 * @module diagnosis/explain-workers
 * Explains the workers of a type without a queue: the decisive cause of each worker with a problem.
 */
import type { RunsBody } from '../protocol/index.ts'
import type { Cause } from './cause.ts'
import { explainWorker } from './explain-worker.ts'
import { namesText, withError } from './failing-text.ts'
import { countText, plural } from './texts.ts'
import type { WorkerFacts } from './worker-facts.ts'

/** Problems that are listed one by one. */
const MAX_WORKERS = 5
const TONES: readonly Cause['tone'][] = ['bad', 'warn', 'calm', 'good']

/** Never returns an empty list. The worst worker comes first. */
export function explainWorkers(
  type: string,
  workers: readonly WorkerFacts[],
  runs: RunsBody | null,
  nowSeconds: number,
): readonly Cause[] {
  if (workers.length === 0)
    return [
      {
        tone: 'bad',
        text: `No worker of ${type} has registered yet. Start one: muster worker --automation-type ${type}`,
        fixes: [],
      },
    ]
  const byId = new Map(runs?.workers.map((each) => [each.worker_id, each]))
  const found = workers
    .flatMap((worker) => {
      const [cause] = explainWorker(worker, nowSeconds, byId.get(worker.worker_id) ?? null)
      return cause === undefined || cause.tone === 'good' ? [] : [{ worker, cause }]
    })
    .toSorted((a, b) => TONES.indexOf(a.cause.tone) - TONES.indexOf(b.cause.tone))
  if (found.length === 0)
    return [{ tone: 'good', text: `No problems: ${plural(workers.length, 'worker')} of ${type} run.`, fixes: [] }]
  const listed = found.slice(0, MAX_WORKERS).map(({ worker, cause }): Cause => {
    const { worker_id: id, last_error: error } = worker
    const text = error === null ? '' : ` ${withError('Its last error', error)}`
    return { ...cause, text: `${id}: ${cause.text}${text}` }
  })
  const more = found.slice(MAX_WORKERS).map(({ worker }) => worker.worker_id)
  if (more.length === 0) return listed
  return [
    ...listed,
    {
      tone: 'warn',
      text: `${countText(more.length)} more workers have problems: ${namesText(more)}.`,
      fixes: [{ kind: 'list_workers', type, filter: 'all' }],
    },
  ]
}
