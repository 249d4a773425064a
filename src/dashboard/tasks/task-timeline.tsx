/** @module dashboard/tasks/task-timeline  Shows the steps of a task with their times, workers and errors. */
import { Age, Moment, TimeLeft } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import type { TimelineStep } from './timeline.ts'

interface TaskTimelineProps {
  readonly type: string
  readonly steps: readonly TimelineStep[]
}

export function TaskTimeline({ type, steps }: TaskTimelineProps) {
  return (
    <ol className="timeline" aria-label="Timeline">
      {steps.map((step, index) => (
        <li key={index} className={step.kind}>
          <span className="timeline-time soft">{step.at !== null && <StepTime at={step.at} kind={step.kind} />}</span>
          <div>
            {step.text}
            {step.worker !== null && (
              <>
                {' on '}
                <a href={formatRoute({ page: 'worker', type, id: step.worker })}>
                  <bdi>{step.worker}</bdi>
                </a>
              </>
            )}
            {step.error !== null && (
              <pre>
                <bdi>{step.error}</bdi>
              </pre>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

function StepTime({ at, kind }: { readonly at: number; readonly kind: TimelineStep['kind'] }) {
  return (
    <>
      <Moment at={at} /> ({kind === 'next' ? <TimeLeft until={at} past="due" /> : <Age at={at} />})
    </>
  )
}
