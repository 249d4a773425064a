/** @module dashboard/tasks/task-finder  Shows the state of one task and polls it until the task is gone (D29). */
import { useId, useState, type SyntheticEvent } from 'react'
import type { TaskPlace } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { ReadState } from '../components/read-state.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'

const EVERY_MS = 2_000

const PLACES: Readonly<Record<TaskPlace['place'], string>> = {
  pending: 'Waiting in the queue.',
  in_flight: 'Leased by a worker.',
  scheduled: 'Delayed, or failed and waiting for its retry.',
  dead: 'Out of attempts.',
  done: 'Completed.',
  expired: 'Not started in time.',
}

export function TaskFinder({ route }: { readonly route: RouteTo<'tasks'> & { readonly type: string } }) {
  const [text, setText] = useState(route.task)
  const id = useId()
  const find = (event: SyntheticEvent): void => {
    event.preventDefault()
    goTo({ ...route, task: text.trim() })
  }
  return (
    <section className="card" aria-label="Task search">
      <form className="finder" onSubmit={find}>
        <label htmlFor={id}>Find a task</label>
        <input
          id={id}
          type="search"
          value={text}
          placeholder="task ID"
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" disabled={text.trim() === ''}>
          Find
        </button>
      </form>
      {route.task !== '' && (
        <TaskState
          key={route.task}
          type={route.type}
          id={route.task}
          onClose={() => {
            setText('')
            replaceRoute({ ...route, task: '' })
          }}
        />
      )}
    </section>
  )
}

export function TaskState({
  type,
  id,
  onClose,
}: {
  readonly type: string
  readonly id: string
  readonly onClose?: () => void
}) {
  const read = useRead(
    ['task', type, id],
    EVERY_MS,
    async (api, signal) => (await api.get<TaskPlace>(['automations', type, 'tasks', id], {}, signal)).body,
  )
  const isGone = isProblem(read.problem, 404)
  return (
    <div className="found">
      <output>
        <code>
          <bdi>{id}</bdi>
        </code>{' '}
        {isGone && (
          <>
            not found: the task is done, expired or never existed. Its result, if any, is in the{' '}
            <a href={formatRoute({ page: 'output', type })}>output</a>.
          </>
        )}
        {!isGone && read.data !== undefined && (
          <>
            <strong>{read.data.place.replace('_', ' ')}</strong>. {PLACES[read.data.place]}{' '}
            {read.data.place === 'dead' && (
              <a href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>Open dead letters</a>
            )}
          </>
        )}
      </output>
      {!isGone && <ReadState read={read} />}
      {onClose !== undefined && (
        <button type="button" className="link" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  )
}
