/** @module dashboard/worker/tasks-in-flight  Lists the tasks that a worker runs now, with links to their pages. */
import type { TaskListBody, WorkerBody } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { useRead } from '../api/queries.ts'
import { countText } from '../components/numbers.ts'
import { Age } from '../components/times.tsx'
import { formatRoute } from '../route.ts'

const EVERY_MS = 5_000
/** A worker may have more: it is counted up to this number. */
const COUNTED = 500
const SHOWN = 20

export function TasksInFlight({ worker }: { readonly worker: WorkerBody }) {
  const hasQueue = useAutomation(worker.automation_type)?.kind === 'BatchAutomation'
  return hasQueue && worker.connected ? <InFlight worker={worker} /> : null
}

function InFlight({ worker: { automation_type: type, worker_id: id } }: { readonly worker: WorkerBody }) {
  const { data } = useRead(['in-flight', type, id], EVERY_MS, async (api, signal) => {
    const query = { worker_id: id, limit: COUNTED }
    const { body } = await api.get<TaskListBody>(['automations', type, 'tasks'], query, signal)
    return { tasks: body.items, isWhole: body.cursor === null }
  })
  if (data === undefined) return null
  const { tasks, isWhole } = data
  return (
    <section className="card" aria-labelledby="in-flight-title">
      <h2 id="in-flight-title">
        Tasks in flight <span className="count">{countText(tasks.length)}</span>
      </h2>
      {tasks.length === 0 && <p className="soft">{isWhole ? 'None.' : 'None among the first 5,000 of the queue.'}</p>}
      <ul className="in-flight">
        {tasks.slice(0, SHOWN).map(({ task_id: task, submitted_at: at }) => (
          <li key={task}>
            <a href={formatRoute({ page: 'task', type, id: task })}>
              <bdi>{task}</bdi>
            </a>{' '}
            <span className="soft">
              submitted <Age at={at} />
            </span>
          </li>
        ))}
      </ul>
      {tasks.length > SHOWN && <p className="soft">and {countText(tasks.length - SHOWN)} more</p>}
    </section>
  )
}
