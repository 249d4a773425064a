/**
 * @module dashboard/tasks/task-logs
 * What the runs of a task logged, requested from the workers that ran it, while their memory has it (D181).
 */
import type { TaskPlace } from '../../protocol/index.ts'
import { formatRoute } from '../route.ts'
import { LogTable } from '../worker/log-table.tsx'
import { useWorkerLog } from '../worker/use-worker-log.ts'

const RUNNING_EVERY_MS = 2_000
const ENDED_EVERY_MS = 15_000
/** The workers of the newest attempts that are asked. */
const MOST_WORKERS = 3

export interface TaskLogsProps {
  readonly type: string
  readonly task: Pick<TaskPlace, 'task_id' | 'place' | 'worker_id' | 'attempts'>
}

/** @returns the workers that ran the task, the newest run first. */
export function workersOf({ worker_id: current, attempts = [] }: TaskLogsProps['task']): readonly string[] {
  const ids = [current, ...attempts.toReversed().map(({ worker_id: id }) => id)]
  return [...new Set(ids.filter((id) => id != null && id !== ''))].slice(0, MOST_WORKERS) as readonly string[]
}

export function TaskLogs({ type, task }: TaskLogsProps) {
  const workers = workersOf(task)
  const everyMs = task.place === 'in_flight' ? RUNNING_EVERY_MS : ENDED_EVERY_MS
  if (workers.length === 0) return null
  return (
    <section className="card logs">
      <h2>Log</h2>
      {workers.map((id) => (
        <WorkerPart key={id} type={type} id={id} task={task.task_id} everyMs={everyMs} />
      ))}
    </section>
  )
}

interface WorkerPartProps {
  readonly type: string
  readonly id: string
  readonly task: string
  readonly everyMs: number
}

function WorkerPart({ type, id, task, everyMs }: WorkerPartProps) {
  const { log, atMs, problem } = useWorkerLog({ type, id, task, everyMs, isRead: true })
  return (
    <>
      <h3>
        <a href={formatRoute({ page: 'worker', type, id, tab: 'logs', q: task })}>
          <bdi>{id}</bdi>
        </a>
      </h3>
      {log.rows.length > 0 && <LogTable label={`Log on ${id}`} type={type} rows={log.rows} hasTasks={false} />}
      {problem !== undefined && (
        <p className="soft">
          <bdi>{problem.message}</bdi>.
        </p>
      )}
      {problem === undefined && log.rows.length === 0 && (
        <p className="soft">
          {atMs === undefined ? 'Loading…' : 'It logged nothing for this task, or its memory no longer has it.'}
        </p>
      )}
    </>
  )
}
