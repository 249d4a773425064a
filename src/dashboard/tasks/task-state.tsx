/**
 * @module dashboard/tasks/task-state
 * Shows the state of one task, polls it until the task is gone, and cancels the task (D29, D109, D110).
 */
import { useState } from 'react'
import type { CancelledBody, TaskPlace } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRead, useRefresh } from '../api/queries.ts'
import { apiBase, mayUse, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { JsonView } from '../components/json-view.tsx'
import { plural } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { formatRoute } from '../route.ts'

const EVERY_MS = 2_000

const PLACES: Readonly<Record<TaskPlace['place'], string>> = {
  pending: 'Waiting in the queue.',
  in_flight: 'Leased by a worker.',
  scheduled: 'Delayed, or failed and waiting for its retry.',
  dead: 'Out of attempts.',
  done: 'Completed.',
  expired: 'Its time to live ended before a worker reserved it.',
  cancelled: 'It was cancelled.',
}
const CANCELLABLE: ReadonlySet<TaskPlace['place']> = new Set(['pending', 'in_flight', 'scheduled'])

interface TaskStateProps {
  readonly type: string
  readonly id: string
  readonly onClose?: () => void
}

export function TaskState({ type, id, onClose }: TaskStateProps) {
  const { me } = useSession()
  const [isOpen, setIsOpen] = useState(false)
  const [isCancelled, setIsCancelled] = useState(false)
  const read = useRead(
    ['task', type, id],
    EVERY_MS,
    async (api, signal) => (await api.get<TaskPlace>(['automations', type, 'tasks', id], {}, signal)).body,
  )
  const isGone = isProblem(read.problem, 404)
  const found = isGone ? undefined : read.data
  return (
    <div className="found">
      <output>
        <code>
          <bdi>{id}</bdi>
        </code>{' '}
        {isGone && (isCancelled ? 'cancelled.' : <GoneText type={type} />)}
        {found !== undefined && <FoundText type={type} task={found} />}
      </output>
      {!isGone && <ReadState read={read} />}
      {found !== undefined && CANCELLABLE.has(found.place) && mayUse(me, type) && (
        <button type="button" onClick={() => setIsOpen(true)}>
          Cancel task…
        </button>
      )}
      {onClose !== undefined && (
        <button type="button" className="link" onClick={onClose}>
          Close
        </button>
      )}
      {found?.result !== undefined && <JsonView value={found.result} label={`Result of ${id}`} />}
      {isOpen && (
        <CancelDialog type={type} id={id} onCancelled={() => setIsCancelled(true)} onClose={() => setIsOpen(false)} />
      )}
    </div>
  )
}

function GoneText({ type }: { readonly type: string }) {
  return (
    <>
      not found: the task has finished and its result is not kept, was cancelled, or never existed. Its outputs, if any,
      are in the <a href={formatRoute({ page: 'output', type })}>output</a>.
    </>
  )
}

function FoundText({ type, task }: { readonly type: string; readonly task: TaskPlace }) {
  const { place, attempt, worker_id: worker, actor, finished_at: finished, result_omitted: omitted, error } = task
  return (
    <>
      <strong>{place.replace('_', ' ')}</strong>. {PLACES[place]}{' '}
      {finished !== undefined && (
        <>
          Finished <Age at={finished} />
          {typeof (worker ?? actor) === 'string' && (
            <>
              {' '}
              by <bdi>{worker ?? actor}</bdi>
            </>
          )}
          {attempt !== undefined && attempt > 0 && `, after ${plural(attempt, 'failed attempt')}`}.{' '}
        </>
      )}
      {omitted !== undefined && 'Its result was too large to be kept. '}
      {typeof error === 'string' && (
        <>
          <bdi>{error}</bdi>{' '}
        </>
      )}
      {place === 'dead' && <a href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>Open dead letters</a>}
    </>
  )
}

interface CancelDialogProps {
  readonly type: string
  readonly id: string
  readonly onCancelled: () => void
  readonly onClose: () => void
}

function CancelDialog({ type, id, onCancelled, onClose }: CancelDialogProps) {
  const refresh = useRefresh()
  const path = ['automations', type, 'tasks', id]
  const act = useAction(async (api) => {
    const { body } = await api.send<CancelledBody>('DELETE', path)
    if (body.outcome === 'cancelled') onCancelled()
    refresh(['task', type, id], ['overview'], ['queue', type])
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Cancel task ${id}?`}
      verb="Cancel 1 task"
      dismiss="Keep the task"
      act={act}
      onClose={onClose}
    >
      <p>
        The task is removed and not run again. A worker that runs it now stops when it extends the lease, at most a
        third of the visibility timeout later, and its outcome does not count.
      </p>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'DELETE', path }),
            musterCommand(apiBase(), 'tasks', 'cancel', type, id),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}
