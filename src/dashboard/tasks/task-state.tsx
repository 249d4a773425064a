/** @module dashboard/tasks/task-state  Shows where a task is that was just submitted, with a link to its page. */
import { isProblem } from '../api/problem.ts'
import { ReadState } from '../components/read-state.tsx'
import { formatRoute } from '../route.ts'
import { PLACES } from './task-text.ts'
import { useTaskState } from './use-task.ts'

interface TaskStateProps {
  readonly type: string
  readonly id: string
  readonly onClose: () => void
}

export function TaskState({ type, id, onClose }: TaskStateProps) {
  const read = useTaskState(type, id)
  const isGone = isProblem(read.problem, 404)
  return (
    <div className="found">
      <output>
        <a href={formatRoute({ page: 'task', type, id })}>
          <bdi>{id}</bdi>
        </a>{' '}
        {isGone && (
          <>
            not found. <GoneText type={type} />
          </>
        )}
        {!isGone && read.data !== undefined && PLACES[read.data.place]}
      </output>
      {!isGone && <ReadState read={read} />}
      <button type="button" className="link" onClick={onClose}>
        Close
      </button>
    </div>
  )
}

/** Why the master does not know a task. */
export function GoneText({ type }: { readonly type: string }) {
  return (
    <>
      The task may have finished (results are kept for a limited time, if at all), was cancelled, or never existed. What
      it emitted may still be in the <a href={formatRoute({ page: 'output', type })}>output of {type}</a>.
    </>
  )
}
