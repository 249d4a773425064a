/** @module dashboard/components/runner  Links the worker and the task of a run. */
import { formatRoute } from '../route.ts'

export interface RunOf {
  /** Undefined: not known, then without a link. */
  readonly type: string | undefined
  readonly worker: string | undefined
  readonly task?: string | undefined
}

export function WorkerOf({ type, worker }: RunOf) {
  if (worker === undefined) return <span className="soft">unknown</span>
  if (type === undefined) return <bdi>{worker}</bdi>
  return (
    <a href={formatRoute({ page: 'worker', type, id: worker })}>
      <bdi>{worker}</bdi>
    </a>
  )
}

export function TaskOf({ type, task }: RunOf) {
  if (task === undefined) return <span className="soft">–</span>
  if (type === undefined) return <bdi>{task}</bdi>
  return (
    <a href={formatRoute({ page: 'task', type, id: task })}>
      <bdi>{task}</bdi>
    </a>
  )
}
