/**
 * @module dashboard/diagnosis/diagnosis
 * The "Why?" of a queue, a worker and the fleet. Its causes are loaded and computed while it is open, so that the first
 * page does not load them.
 */
import { lazy, Suspense, useState, type ReactNode } from 'react'
import type { WorkerFacts } from '../../diagnosis/index.ts'
import type { QueueProps } from './causes.tsx'
import { failingNow } from './attention.ts'
import type { FleetStatus } from './fleet-status.ts'
import './diagnosis.css'

const QueueCauses = lazy(async () => ({ default: (await import('./causes.tsx')).QueueCauses }))
const FleetCauses = lazy(async () => ({ default: (await import('./causes.tsx')).FleetCauses }))
const FleetCause = lazy(async () => ({ default: (await import('./causes.tsx')).FleetCause }))
const NotAppliedCauses = lazy(async () => ({ default: (await import('./causes.tsx')).NotAppliedCauses }))
const WorkerCauses = lazy(async () => ({ default: (await import('./causes.tsx')).WorkerCauses }))

/** Renders its content while it is open. */
function Why({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState(false)
  return (
    <details className="why" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Why?</summary>
      {open && <Suspense fallback={<output className="reading">Loading…</output>}>{children}</Suspense>}
    </details>
  )
}

export const WhyQueue = (props: QueueProps) => (
  <Why>
    <QueueCauses {...props} />
  </Why>
)

export const WhyFleet = ({ status }: { readonly status: FleetStatus }) => (
  <Why>
    <FleetCauses status={status} />
  </Why>
)

/** The worker whose runs fail now and its cause, without a click. Renders nothing if there is none. */
export function FailingNow({ status: { facts, attention } }: { readonly status: FleetStatus }) {
  const item = failingNow(attention)
  return (
    item !== undefined && (
      <Suspense fallback={null}>
        <FleetCause facts={facts} item={item} />
      </Suspense>
    )
  )
}

export const WhyWorker = ({ worker }: { readonly worker: WorkerFacts }) => (
  <Why>
    <WorkerCauses worker={worker} />
  </Why>
)

/** Why the worker has not applied its newest config. */
export const WhyNotApplied = ({ worker }: { readonly worker: WorkerFacts }) => (
  <Why>
    <NotAppliedCauses worker={worker} />
  </Why>
)
