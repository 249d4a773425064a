/** @module dashboard/tasks/task-page  The page of one task: timeline, log, progress, result, payload and actions. */
import { lazy, Suspense, useState } from 'react'
import type { TaskPlace } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRefresh, type Read } from '../api/queries.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { JsonView } from '../components/json-view.tsx'
import { ReadState } from '../components/read-state.tsx'
import { Age, Moment } from '../components/times.tsx'
import type { DeadAction } from '../dead/actions.ts'
import { DeadActionDialog } from '../dead/action-dialog.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { SubmitAgainDialog } from './submit-again.tsx'
import { TaskFacts } from './task-facts.tsx'
import { GoneText } from './task-state.tsx'
import { isLive, PLACES, type ListedTask } from './task-text.ts'
import { TaskTimeline } from './task-timeline.tsx'
import { timelineOf } from './timeline.ts'
import { useListedTask, useTaskState } from './use-task.ts'
import './tasks.css'

const TaskLogs = lazy(async () => ({ default: (await import('./task-logs.tsx')).TaskLogs }))

export function TaskPage({ route: { type, id } }: { readonly route: RouteTo<'task'> }) {
  const [isCancelled, setIsCancelled] = useState(false)
  const [done, setDone] = useState<string | null>(null)
  const read = useTaskState(type, id)
  const isGone = isProblem(read.problem, 404)
  const listed = useListedTask(type, id, isGone ? undefined : read.data?.place)
  const task = read.data
  return (
    <>
      <p className="back">
        <a href={formatRoute({ page: 'tasks', type })}>
          Queue of <bdi>{type}</bdi>
        </a>
      </p>
      <div className="title">
        <h1>
          Task <bdi>{id}</bdi>
        </h1>
        <TaskActions
          type={type}
          id={id}
          place={isGone ? undefined : task?.place}
          listed={listed.data ?? null}
          onCancelled={() => setIsCancelled(true)}
          onDone={setDone}
        />
      </div>
      <output className="done">{done}</output>
      {!isGone && <ReadState read={read} />}
      {isGone && task === undefined && <TaskNotFound type={type} />}
      {task !== undefined && (
        <TaskView
          type={type}
          task={task}
          listed={listed}
          end={isGone ? <EndText type={type} isCancelled={isCancelled} /> : null}
        />
      )}
    </>
  )
}

function TaskNotFound({ type }: { readonly type: string }) {
  return (
    <>
      <EmptyState kind="gone" title="Task not found">
        <p>
          <GoneText type={type} />
        </p>
      </EmptyState>
    </>
  )
}

function EndText({ type, isCancelled }: { readonly type: string; readonly isCancelled: boolean }) {
  if (isCancelled) return <>Cancelled.</>
  return (
    <>
      No longer stored: it has finished and its result is not kept, or it was cancelled. What it emitted may still be in
      the <a href={formatRoute({ page: 'output', type })}>output of {type}</a>.
    </>
  )
}

interface TaskActionsProps {
  readonly type: string
  readonly id: string
  /** undefined while it is unknown, and if the task is not stored. */
  readonly place: TaskPlace['place'] | undefined
  readonly listed: ListedTask | null
  readonly onCancelled: () => void
  /** @param text What a replay or removal has done. */
  readonly onDone: (text: string) => void
}

function TaskActions({ type, id, place, listed, onCancelled, onDone }: TaskActionsProps) {
  const { me } = useSession()
  const refresh = useRefresh()
  const [opened, setOpened] = useState<'cancel' | 'submit' | DeadAction | null>(null)
  const close = (): void => setOpened(null)
  const closeDead = (text: string | null): void => {
    close()
    if (text === null) return
    onDone(text)
    refresh(['task', type, id], ['dead', type], ['queue', type], ['overview'])
  }
  return (
    <div className="buttons">
      <CopyAs
        commands={[
          curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'tasks', id] }),
          musterCommand(apiBase(), 'tasks', 'get', type, id),
        ]}
      />
      {listed !== null && hasPermission(me, type, 'submit') && (
        <button type="button" onClick={() => setOpened('submit')}>
          Submit again…
        </button>
      )}
      {place === 'dead' && hasPermission(me, type, 'operate') && (
        <button type="button" onClick={() => setOpened('replay')}>
          Replay…
        </button>
      )}
      {place === 'dead' && hasPermission(me, type, 'purge') && (
        <button type="button" onClick={() => setOpened('remove')}>
          Remove…
        </button>
      )}
      {place !== undefined && isLive(place) && hasPermission(me, type, 'operate') && (
        <button type="button" onClick={() => setOpened('cancel')}>
          Cancel task…
        </button>
      )}
      {opened === 'cancel' && <CancelDialog type={type} id={id} onCancelled={onCancelled} onClose={close} />}
      {(opened === 'replay' || opened === 'remove') && (
        <DeadActionDialog type={type} action={opened} ids={[id]} onClose={closeDead} />
      )}
      {opened === 'submit' && listed !== null && <SubmitAgainDialog type={type} task={listed} onClose={close} />}
    </div>
  )
}

interface TaskViewProps {
  readonly type: string
  readonly task: TaskPlace
  readonly listed: Read<ListedTask | null>
  /** What is known about the end of a task that is no longer stored; null if it is stored. */
  readonly end: React.ReactNode
}

function TaskView({ type, task, listed, end }: TaskViewProps) {
  const steps = timelineOf(task, listed.data ?? null)
  return (
    <>
      <p className="verdict">{end ?? <PlaceText type={type} task={task} />}</p>
      <section className="card">
        <h2>Timeline</h2>
        <TaskTimeline type={type} steps={end === null ? steps : steps.slice(0, -1)} />
      </section>
      <Suspense fallback={null}>
        <TaskLogs type={type} task={task} />
      </Suspense>
      {task.progress !== undefined && (
        <section className="card">
          <h2>
            Progress{' '}
            {task.progress_at !== undefined && (
              <span className="count">
                reported <Age at={task.progress_at} />
              </span>
            )}
          </h2>
          <JsonView value={task.progress} label="Progress" />
        </section>
      )}
      {task.result !== undefined && (
        <section className="card">
          <h2>
            Result{' '}
            {task.retained_until !== undefined && (
              <span className="count">
                kept until <Moment at={task.retained_until} />
              </span>
            )}
          </h2>
          <JsonView value={task.result} label="Result" />
        </section>
      )}
      <TaskFacts place={task.place} read={listed} />
    </>
  )
}

function PlaceText({ type, task }: { readonly type: string; readonly task: TaskPlace }) {
  const { place, result_omitted: omitted } = task
  return (
    <>
      <strong>{place.replace('_', ' ')}</strong>. {PLACES[place]}
      {omitted !== undefined && ' Its result was too large to be kept.'}{' '}
      {place === 'dead' && <a href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>Open dead letters</a>}
    </>
  )
}
