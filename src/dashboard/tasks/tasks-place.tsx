/** @module dashboard/tasks/tasks-place  The queue card of a batch type: what waits, a task to submit, the dead letters. */
import type { QueueBody } from '../../protocol/index.ts'
import { isBatch, type Automation } from '../api/automations.ts'
import { useInstalled } from '../api/installed.ts'
import { usePolled } from '../api/use-polled.ts'
import { Choices } from '../parts/choices.tsx'
import { Empty } from '../parts/empty.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { countText } from '../parts/numbers.ts'
import { formatRoute } from '../route.ts'
import { DeadLetters } from './dead-letters.tsx'
import { QueueSummary } from './queue-summary.tsx'
import { SubmitForm } from './submit-form.tsx'
import { TaskTable } from './task-table.tsx'

const EVERY_MS = 2_000
const SHOWN = 20

export function TasksPlace({ name }: { readonly name: string | null }) {
  const batch = useInstalled().automations.filter(isBatch)
  const types = batch.map(({ type }) => type)
  const open = batch.find(({ type }) => type === name)
  return (
    <>
      <h1>Tasks</h1>
      <Choices label="Batch automations" place="tasks" names={types} open={name} />
      {name === null && (types.length === 0 ? <Empty><p>No batch automation is installed, or none this token covers.</p></Empty> : <QueueSummary types={types} />)}
      {name !== null && open === undefined && <Empty><p><bdi>{name}</bdi> is not a batch automation this token covers.</p></Empty>}
      {open !== undefined && <QueueCard key={open.type} automation={open} />}
    </>
  )
}

function QueueCard({ automation }: { readonly automation: Automation }) {
  const { type } = automation
  const polled = usePolled(`queue ${type}`, EVERY_MS, async (api, signal) => (await api.get<QueueBody>(['automations', type, 'queue'], { n: SHOWN }, signal)).body)
  const { data, problem, refresh } = polled
  return (
    <>
      <section className="card">
        <h2>Queue of <bdi>{type}</bdi> {data !== undefined && <span className="count">{countText(data.length)} waiting</span>}</h2>
        <Freshness polled={polled} every="2 s" />
        {data !== undefined && data.items.length === 0 && <p className="soft">Nothing waits. Results are in its <a href={formatRoute({ place: 'output', name: type })}>output</a>.</p>}
        {data !== undefined && data.items.length > 0 && <TaskTable label="Waiting tasks" items={data.items} stale={problem !== undefined} />}
        {data !== undefined && data.length > data.items.length && <p className="soft">The first {countText(data.items.length)} of {countText(data.length)}, in the order they are taken.</p>}
      </section>
      <SubmitForm automation={automation} onSubmitted={refresh} />
      <DeadLetters type={type} />
    </>
  )
}
