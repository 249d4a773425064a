/**
 * @module dashboard/output/entry-table
 * Shows output entries as rows, oldest first, with a marker where entries are missing.
 */
import { useMemo, useState, type ReactNode } from 'react'
import { clockText } from '../components/moments.ts'
import { TaskOf, WorkerOf } from '../components/runner.tsx'
import { Moment } from '../components/times.tsx'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import type { TailRow } from './tail-buffer.ts'
import '../tasks/list.css'

const PREVIEW_CHARACTERS = 300

export interface EntryTableProps {
  readonly label: string
  /** The automation type of the entries, for links to workers and tasks. */
  readonly type: string
  readonly rows: readonly TailRow[]
  readonly stale?: boolean
  /** Shown if there are no rows. */
  readonly empty?: ReactNode
}

const columnsOf = (type: string, open: (row: TailRow) => void): readonly Column<TailRow>[] => [
  { name: 'Time', className: 'short', cell: (row) => (row.kind === 'gap' ? '' : clockText(row.entry.ts)) },
  { name: 'Worker', className: 'from', cell: (row) => row.kind === 'entry' && <WorkerOf {...runOf(type, row)} /> },
  { name: 'Slot', className: 'number slot', cell: (row) => (row.kind === 'gap' ? '' : row.entry.slot_id) },
  { name: 'Task', className: 'from', cell: (row) => row.kind === 'entry' && <TaskOf {...runOf(type, row)} /> },
  {
    name: 'Entry',
    className: 'row-head entry',
    cell: (row) =>
      row.kind === 'gap' ? (
        ''
      ) : (
        <button type="button" className="link code" onClick={() => open(row)}>
          <bdi>{row.entry.id}</bdi>
        </button>
      ),
  },
  {
    name: 'Payload',
    className: 'preview',
    cell: (row) =>
      row.kind === 'gap' ? (
        <em className="warn">entries are missing here: they were popped or trimmed before they could be read</em>
      ) : (
        <bdi className="code">{row.text.slice(0, PREVIEW_CHARACTERS)}</bdi>
      ),
  },
]

export function EntryTable({ label, type, rows, stale = false, empty = null }: EntryTableProps) {
  const [shown, setShown] = useState<TailRow | null>(null)
  const columns = useMemo(() => columnsOf(type, setShown), [type])
  return (
    <>
      {rows.length === 0 ? (
        empty
      ) : (
        <div className="list">
          <VirtualTable
            label={label}
            columns={columns}
            rows={rows}
            keyOf={keyOf}
            rowHeight={32}
            cardHeight={160}
            stale={stale}
            onOpen={(row) => row.kind === 'entry' && setShown(row)}
          />
        </div>
      )}
      {shown?.kind === 'entry' && (
        <JsonDialog title={shown.entry.id} value={shown.entry.payload} onClose={() => setShown(null)}>
          <p className="soft">
            Worker <WorkerOf {...runOf(type, shown)} />, slot {shown.entry.slot_id}, task{' '}
            <TaskOf {...runOf(type, shown)} />, emitted <Moment at={shown.entry.ts} />.
          </p>
        </JsonDialog>
      )}
    </>
  )
}

type EntryRow = Extract<TailRow, { kind: 'entry' }>

const runOf = (type: string, { entry: { worker_id: worker, task_id: task } }: EntryRow) => ({ type, worker, task })

const keyOf = (row: TailRow): string => (row.kind === 'gap' ? `gap ${row.before}` : row.entry.id)
