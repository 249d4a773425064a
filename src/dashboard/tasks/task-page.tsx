/** @module dashboard/tasks/task-page  Shows one task at an address of its own. */
import { formatRoute, type RouteTo } from '../route.ts'
import { TaskState } from './task-state.tsx'
import './tasks.css'

export function TaskPage({ route: { type, id } }: { readonly route: RouteTo<'task'> }) {
  return (
    <>
      <p className="back">
        <a href={formatRoute({ page: 'tasks', type })}>
          Queue of <bdi>{type}</bdi>
        </a>
      </p>
      <h1>
        Task <bdi>{id}</bdi>
      </h1>
      <section className="card" aria-label="State">
        <TaskState type={type} id={id} />
      </section>
    </>
  )
}
