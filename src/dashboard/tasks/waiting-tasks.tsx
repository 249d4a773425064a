/** @module dashboard/tasks/waiting-tasks  Shows the next tasks of a queue in the order in which they are leased. */
import { useMemo, useState } from 'react'
import type { QueueBody } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import { formatRoute } from '../route.ts'
import { JsonDialog } from './json-dialog.tsx'
import { payloadText, tierOf } from './task-text.ts'
import './list.css'

const EVERY_MS = 5_000
const STEPS = [20, 100, 1_000] as const

type Waiting = QueueBody['items'][number]

const columnsOf = (open: (item: Waiting) => void): readonly Column<Waiting>[] => [
  {
    name: 'Task',
    className: 'row-head',
    cell: (item) => (
      <button type="button" className="link code" onClick={() => open(item)}>
        <bdi>{item.id}</bdi>
      </button>
    ),
  },
  { name: 'Tier', className: 'short', cell: ({ priority }) => tierOf(priority) },
  { name: 'Failed attempts', className: 'number short', cell: ({ attempt }) => attempt },
  { name: 'Submitted', className: 'number short', cell: (item) => <Age at={item.submitted_at} /> },
  { name: 'Payload', className: 'preview', cell: ({ payload }) => <bdi className="code">{payloadText(payload)}</bdi> },
]

export function WaitingTasks({ type }: { readonly type: string }) {
  const [n, setN] = useState<number>(STEPS[0])
  const [shown, setShown] = useState<Waiting | null>(null)
  const read = useRead(
    ['queue', type, n],
    EVERY_MS,
    async (api, signal) => (await api.get<QueueBody>(['automations', type, 'queue'], { n }, signal)).body,
    { keepsShown: true },
  )
  const columns = useMemo(() => columnsOf(setShown), [])
  const more = STEPS.find((step) => step > n)
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
        {({ items, length }) =>
          items.length === 0 ? (
            <EmptyState kind="nothing" title="No tasks waiting">
              <p>
                Results of finished tasks are in the <a href={formatRoute({ place: 'output', type })}>output</a>;{' '}
                <a href={formatRoute({ place: 'tasks', type, tab: 'submit' })}>submit a task</a> to see one run.
              </p>
            </EmptyState>
          ) : (
            <>
              <div className="list">
                <VirtualTable
                  label="Waiting tasks"
                  columns={columns}
                  rows={items}
                  keyOf={keyOf}
                  rowHeight={36}
                  cardHeight={136}
                  stale={read.problem !== undefined}
                  onOpen={setShown}
                />
              </div>
              {length > items.length && more !== undefined && (
                <button type="button" onClick={() => setN(more)}>
                  Show {countText(Math.min(more, length))}
                </button>
              )}
            </>
          )
        }
      </ReadView>
      {shown !== null && (
        <JsonDialog title={shown.id} value={shown.payload} onClose={() => setShown(null)}>
          <p className="soft">
            {tierOf(shown.priority)} tier (priority {shown.priority}), {countText(shown.attempt)} failed attempts,
            submitted <Age at={shown.submitted_at} />.
          </p>
        </JsonDialog>
      )}
    </section>
  )
}

const keyOf = ({ id }: Waiting): string => id
