/** @module dashboard/worker/log-table  Shows log entries as rows, newest last; a click opens the complete entry. */
import { useMemo, useState } from 'react'
import { clockText } from '../components/moments.ts'
import { Moment } from '../components/times.tsx'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import { formatRoute } from '../route.ts'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import { gapText, type LogRow } from './log-buffer.ts'
import '../tasks/list.css'
import './logs.css'

const PREVIEW_CHARACTERS = 500

export interface LogTableProps {
  readonly label: string
  readonly type: string
  readonly rows: readonly LogRow[]
  /** Whether the column of tasks is shown. */
  readonly hasTasks: boolean
}

const clockMsText = (ts: number): string => {
  const [clock = '', zone = ''] = clockText(ts).split(' ')
  const ms = String(Math.floor((ts % 1) * 1_000 + 0.5) % 1_000).padStart(3, '0')
  return `${clock}.${ms}${zone === '' ? '' : ` ${zone}`}`
}

const columnsOf = (type: string, hasTasks: boolean, open: (row: LogRow) => void): readonly Column<LogRow>[] => [
  {
    name: 'Time',
    className: 'short',
    cell: (row) => (row.kind === 'gap' ? '' : clockMsText(row.entry.ts)),
  },
  {
    name: 'Level',
    className: 'level',
    cell: (row) => (row.kind === 'gap' ? '' : <span className={`log-${row.entry.level}`}>{row.entry.level}</span>),
  },
  { name: 'Slot', className: 'number slot', cell: (row) => (row.kind === 'gap' ? '' : row.entry.slot_id) },
  ...(hasTasks
    ? [
        {
          name: 'Task',
          className: 'log-task',
          cell: (row: LogRow) =>
            row.kind === 'entry' &&
            row.entry.task_id !== null && (
              <a href={formatRoute({ page: 'task', type, id: row.entry.task_id })}>
                <bdi>{row.entry.task_id}</bdi>
              </a>
            ),
        },
      ]
    : []),
  {
    name: 'Message',
    className: 'row-head log-message',
    cell: (row) =>
      row.kind === 'gap' ? (
        <em className="warn">{gapText(row.missed)}</em>
      ) : (
        <button type="button" className="link code" onClick={() => open(row)}>
          <bdi>{row.text.slice(0, PREVIEW_CHARACTERS)}</bdi>
        </button>
      ),
  },
]

export function LogTable({ label, type, rows, hasTasks }: LogTableProps) {
  const [shown, setShown] = useState<LogRow | null>(null)
  const columns = useMemo(() => columnsOf(type, hasTasks, setShown), [type, hasTasks])
  return (
    <>
      <div className="list log">
        <VirtualTable
          label={label}
          columns={columns}
          rows={rows}
          keyOf={({ key }) => key}
          rowHeight={32}
          cardHeight={136}
          onOpen={(row) => row.kind === 'entry' && setShown(row)}
        />
      </div>
      {shown?.kind === 'entry' && (
        <JsonDialog title="Log entry" value={shown.entry} onClose={() => setShown(null)}>
          <p className="soft">
            Logged <Moment at={shown.entry.ts} />.
          </p>
        </JsonDialog>
      )}
    </>
  )
}
