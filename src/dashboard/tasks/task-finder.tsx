/** @module dashboard/tasks/task-finder  Finds a task by its ID. */
import { useId, useState, type SyntheticEvent } from 'react'
import type { RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { TaskState } from './task-state.tsx'

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
