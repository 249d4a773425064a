/**
 * @module dashboard/diagnosis/causes
 * Computes and shows the ranked causes for a queue, a worker or the fleet, each with links to what fixes it.
 * diagnosis.tsx loads it when "Why?" is opened.
 */
import {
  explainNotApplied,
  explainQueue,
  explainWorker,
  type FleetFacts,
  type WorkerFacts,
} from '../../diagnosis/index.ts'
import type { QueueTotals } from '../../protocol/index.ts'
import { cutText } from '../components/json-text.ts'
import { useServerNow } from '../components/use-now.ts'
import { useWorkersOf } from '../workers/use-workers.ts'
import type { Attention } from './attention.ts'
import type { FleetStatus } from './fleet-status.ts'
import { explainedTypes, explainFleet } from './explain-fleet.ts'
import { withLinks, type LinkedCause } from './fix-links.ts'
import { useRuns, useWorkerRuns } from './use-runs.ts'
import './diagnosis.css'

const SHOWN_CHARACTERS = 800
const MARKS: Readonly<Record<LinkedCause['tone'], string>> = { bad: '✗', warn: '!', calm: '•', good: '✓' }

interface CauseListProps {
  readonly label?: string
  readonly causes: readonly LinkedCause[]
}

export function CauseList({ label = 'Causes, most important first', causes }: CauseListProps) {
  return (
    <ol className="causes" aria-label={label}>
      {causes.map(({ tone, text, links }) => (
        <li key={text}>
          <span className={`cause-mark ${tone}`} aria-hidden="true">
            {MARKS[tone]}
          </span>
          <span>
            <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
            {links.length > 0 && (
              <span className="cause-links">
                {links.map((link) => (
                  <a key={link.text} href={link.href}>
                    <bdi>{link.text}</bdi>
                  </a>
                ))}
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

export interface QueueProps {
  readonly type: string
  readonly queue: QueueTotals
}

/** @returns undefined while workers or runs are loading. */
export function useQueueCauses({ type, queue }: QueueProps, everyMs?: number): readonly LinkedCause[] | undefined {
  const workers = useWorkersOf(type)
  const { high, normal, low, in_flight: inFlight, scheduled, dead } = queue
  const isUnused = high + normal + low + inFlight + scheduled + dead === 0
  const runs = useRuns(isUnused ? [] : [type], everyMs)
  const nowSeconds = useServerNow()
  if (workers === undefined || runs === undefined) return undefined
  return explainQueue({ type, queue, workers, runs: runs.get(type) ?? null, nowSeconds }).map(withLinks)
}

export function QueueCauses(props: QueueProps) {
  const causes = useQueueCauses(props)
  return causes === undefined ? <output className="reading">Loading workers…</output> : <CauseList causes={causes} />
}

export function FleetCauses({ status: { facts, attention } }: { readonly status: FleetStatus }) {
  const runs = useRuns(explainedTypes(attention))
  return runs === undefined ? (
    <output className="reading">Loading…</output>
  ) : (
    <CauseList causes={explainFleet(facts, attention, runs)} />
  )
}

/** The cause of one problem, as a sentence with links. */
export function FleetCause({ facts, item }: { readonly facts: FleetFacts; readonly item: Attention }) {
  const runs = useRuns([item.type])
  return runs === undefined ? null : <CauseList label="Main cause" causes={explainFleet(facts, [item], runs)} />
}

export function NotAppliedCauses({ worker }: { readonly worker: WorkerFacts }) {
  return <CauseList causes={explainNotApplied(worker, useServerNow()).map(withLinks)} />
}

export function WorkerCauses({ worker }: { readonly worker: WorkerFacts }) {
  const now = useServerNow()
  const runs = useWorkerRuns(worker.automation_type, worker.worker_id)
  return runs === undefined ? (
    <output className="reading">Loading…</output>
  ) : (
    <CauseList causes={explainWorker(worker, now, runs).map(withLinks)} />
  )
}
