/**
 * @module dashboard/diagnosis/diagnosis
 * Shows the ranked causes for a queue, a worker or the fleet, each with a link to the fix. They are computed when the
 * user opens "Why?".
 */
import { useState } from 'react'
import type { QueueTotals } from '../../protocol/index.ts'
import { cutText } from '../components/json-text.ts'
import { useServerNow } from '../components/use-now.ts'
import { useWorkersOf } from '../workers/use-workers.ts'
import { explainQueue, explainWorker, type Cause, type WorkerFacts } from './explain.ts'
import './diagnosis.css'

const SHOWN_CHARACTERS = 400
const MARKS: Readonly<Record<Cause['tone'], string>> = { bad: '✗', warn: '!', calm: '•', good: '✓' }

export function CauseList({ causes }: { readonly causes: readonly Cause[] }) {
  return (
    <ol className="causes" aria-label="Causes, most important first">
      {causes.map(({ tone, text, link }) => (
        <li key={text}>
          <span className={`cause-mark ${tone}`} aria-hidden="true">
            {MARKS[tone]}
          </span>
          <span>
            <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
            {link !== null && (
              <>
                {' '}
                <a href={link.href}>
                  <bdi>{link.text}</bdi>
                </a>
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

export function WhyQueue({ type, queue }: { readonly type: string; readonly queue: QueueTotals }) {
  const [open, setOpen] = useState(false)
  return (
    <details className="why" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Why?</summary>
      {open && <QueueCauses type={type} queue={queue} />}
    </details>
  )
}

function QueueCauses({ type, queue }: { readonly type: string; readonly queue: QueueTotals }) {
  const workers = useWorkersOf(type)
  return workers === undefined ? (
    <output className="reading">Loading workers…</output>
  ) : (
    <CauseList causes={explainQueue({ type, queue, workers })} />
  )
}

export function WhyFleet({ causes }: { readonly causes: () => readonly Cause[] }) {
  const [open, setOpen] = useState(false)
  return (
    <details className="why" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Why?</summary>
      {open && <CauseList causes={causes()} />}
    </details>
  )
}

export function WhyWorker({ worker }: { readonly worker: WorkerFacts }) {
  const now = useServerNow()
  return (
    <details className="why">
      <summary className="button">Why?</summary>
      <CauseList causes={explainWorker(worker, now)} />
    </details>
  )
}
