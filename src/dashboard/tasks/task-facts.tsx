/** @module dashboard/tasks/task-facts  Shows group, labels, retry policy, trace and payload of a task. */
import type { ReactNode } from 'react'
import type { TaskPlace } from '../../protocol/index.ts'
import type { Read } from '../api/queries.ts'
import { JsonView } from '../components/json-view.tsx'
import { ReadState } from '../components/read-state.tsx'
import type { ListedTask } from './task-text.ts'

interface TaskFactsProps {
  readonly place: TaskPlace['place']
  readonly read: Read<ListedTask | null>
}

export function TaskFacts({ place, read }: TaskFactsProps) {
  const { data: task } = read
  const isFinished = place === 'done' || place === 'expired'
  return (
    <section className="card">
      <h2>Task</h2>
      {!isFinished && <ReadState read={read} />}
      {isFinished && task === undefined && <p>Payload and labels of a finished task are not kept.</p>}
      {task === null && (
        <p>Payload and labels are not shown: the queue is long, and the task is not among its first 5,000.</p>
      )}
      {task != null && <Facts task={task} />}
    </section>
  )
}

function Facts({ task }: { readonly task: ListedTask }) {
  const { priority, attempt, labels = {}, group_key: group, retry, traceparent, payload } = task
  return (
    <>
      <dl className="facts">
        <Fact name="Priority">{priority}</Fact>
        <Fact name="Failed attempts">{attempt}</Fact>
        {group !== undefined && (
          <Fact name="Group">
            <bdi>{group}</bdi>
          </Fact>
        )}
        {retry !== undefined && (
          <Fact name="Retry policy">
            {retry.base_seconds} s, then × {retry.factor}, at most {retry.cap_seconds} s
          </Fact>
        )}
        {traceparent !== undefined && (
          <Fact name="Trace ID">
            <code>{traceIdOf(traceparent)}</code>
          </Fact>
        )}
        {Object.entries(labels).map(([key, value]) => (
          <Fact key={key} name={key}>
            <bdi>{value}</bdi>
          </Fact>
        ))}
      </dl>
      <h3>Payload</h3>
      <JsonView value={payload} label="Payload" />
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** `00-TRACE-SPAN-FLAGS`, as W3C defines it. */
const traceIdOf = (traceparent: string): string => traceparent.split('-')[1] ?? traceparent
