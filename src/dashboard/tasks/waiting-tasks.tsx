/** @module dashboard/tasks/waiting-tasks  Shows the next tasks of a queue in the order in which they are leased. */
import { useMemo, useState } from 'react'
import type { QueueBody } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { ShowMore, useListSize, type ListSize } from '../components/show-more.tsx'
import { Age } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { formatRoute } from '../route.ts'
import { ItemTable, jsonColumn, openColumn } from './item-table.tsx'
import { JsonDialog } from './json-dialog.tsx'

const EVERY_MS = 10_000
const STEPS = [20, 100, 1_000] as const

type WaitingTask = QueueBody['items'][number]

const columnsOf = (open: (item: WaitingTask) => void): readonly Column<WaitingTask>[] => [
  openColumn('Task', open),
  { name: 'Priority', className: 'number short', cell: ({ priority }) => priority },
  { name: 'Failed attempts', className: 'number short', cell: ({ attempt }) => attempt },
  { name: 'Submitted', className: 'number short', cell: (item) => <Age at={item.submitted_at} /> },
  jsonColumn('Payload', ({ payload }) => payload),
]

export function WaitingTasks({ type }: { readonly type: string }) {
  const size = useListSize(STEPS)
  const { n } = size
  const [shown, setShown] = useState<WaitingTask | null>(null)
  const read = useRead(
    ['queue', type, n],
    EVERY_MS,
    async (api, signal) => (await api.get<QueueBody>(['automations', type, 'queue'], { n }, signal)).body,
    { keepsShown: true },
  )
  return (
    <section className="card">
      <div className="title">
        <h2>
          Next tasks{' '}
          {read.data !== undefined && (
            <span className="count">
              {countText(read.data.items.length)} of {countText(read.data.length)}
            </span>
          )}
        </h2>
        <div className="buttons">
          <CopyAs
            commands={[
              curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'queue'], query: { n } }),
              musterCommand(apiBase(), 'queue', 'ls', type, '-n', String(n)),
            ]}
          />
        </div>
      </div>
      <ReadView read={read}>
        {(queue) =>
          queue.items.length === 0 ? (
            <NoTasksWaiting type={type} />
          ) : (
            <WaitingTable queue={queue} size={size} isStale={read.problem !== undefined} onOpen={setShown} />
          )
        }
      </ReadView>
      {shown !== null && <WaitingTaskDialog task={shown} onClose={() => setShown(null)} />}
    </section>
  )
}

function NoTasksWaiting({ type }: { readonly type: string }) {
  return (
    <EmptyState kind="nothing" title="No tasks waiting">
      <p>
        Results of finished tasks are in the <a href={formatRoute({ page: 'output', type })}>output</a>;{' '}
        <a href={formatRoute({ page: 'tasks', type, tab: 'submit' })}>submit a task</a> to see one run.
      </p>
    </EmptyState>
  )
}

interface WaitingTableProps {
  readonly queue: QueueBody
  readonly size: ListSize
  readonly isStale: boolean
  readonly onOpen: (task: WaitingTask) => void
}

function WaitingTable({ queue: { items, length }, size, isStale, onOpen }: WaitingTableProps) {
  const columns = useMemo(() => columnsOf(onOpen), [onOpen])
  return (
    <>
      <ItemTable label="Waiting tasks" columns={columns} items={items} isStale={isStale} onOpen={onOpen} />
      <ShowMore size={size} shown={items.length} total={length} />
    </>
  )
}

function WaitingTaskDialog({ task, onClose }: { readonly task: WaitingTask; readonly onClose: () => void }) {
  return (
    <JsonDialog title={task.id} value={task.payload} onClose={onClose}>
      <p className="soft">
        Priority {task.priority}, {plural(task.attempt, 'failed attempt')}
        {', submitted '}
        <Age at={task.submitted_at} />.
      </p>
    </JsonDialog>
  )
}
