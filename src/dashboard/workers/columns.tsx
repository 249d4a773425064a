/** @module dashboard/workers/columns  Defines the columns of the worker list. */
import { cutText } from '../components/json-text.ts'
import { measureText } from '../components/numbers.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { PlainAge } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { formatRoute } from '../route.ts'
import { configText, isBehind } from './display-state.ts'
import { ManagedBadge } from './managed-badge.tsx'
import { keyOf, liveStats, type WorkerRow } from './row.ts'
import { Sparkline } from './sparkline.tsx'
import type { Sparks } from './sparks.ts'

const ERROR_CHARACTERS = 200

export interface ColumnDeps {
  readonly sparks: Sparks
  readonly onToggle: (row: WorkerRow, isRange: boolean) => void
  readonly isSelected: (row: WorkerRow) => boolean
}

export function workerColumns({ sparks, onToggle, isSelected }: ColumnDeps): readonly Column<WorkerRow>[] {
  return [
    {
      name: 'Select',
      head: <span className="hidden">Select</span>,
      className: 'w-tick',
      cell: (row) => <SelectBox row={row} isSelected={isSelected(row)} onToggle={onToggle} />,
    },
    { name: 'Worker', sort: 'worker', className: 'w-id row-head', cell: (row) => <WorkerLink row={row} /> },
    {
      name: 'Type',
      sort: 'type',
      className: 'w-type',
      cell: ({ automation_type: type }) => <bdi className="soft">{type}</bdi>,
    },
    { name: 'State', sort: 'state', className: 'w-state', cell: (row) => <State row={row} /> },
    { name: 'Slots', sort: 'slots', className: 'w-slots number', cell: (row) => liveStats(row)?.slots ?? '–' },
    { name: 'CPU', sort: '-cpu', className: 'w-cpu number', cell: (row) => <Cpu row={row} sparks={sparks} /> },
    { name: 'Memory', sort: '-rss', className: 'w-rss number', cell: (row) => memoryText(liveStats(row)) },
    { name: 'Config', sort: 'config', className: 'w-config', cell: (row) => <ConfigGeneration row={row} /> },
    {
      name: 'Managed',
      sort: 'managed',
      className: 'w-managed',
      cell: ({ managed_by: by }) => <ManagedBadge by={by} />,
    },
    {
      name: 'Last seen',
      sort: '-seen',
      className: 'w-seen number',
      cell: ({ last_seen: at }) => <PlainAge since={at} />,
    },
    { name: 'Last error', sort: 'error', className: 'w-error', cell: (row) => <LastError row={row} /> },
  ]
}

interface SelectBoxProps extends RowProps {
  readonly isSelected: boolean
  readonly onToggle: ColumnDeps['onToggle']
}

function SelectBox({ row, isSelected, onToggle }: SelectBoxProps) {
  return (
    <label className="tick">
      <input
        type="checkbox"
        checked={isSelected}
        aria-label={`Select ${keyOf(row)}`}
        onChange={(event) => onToggle(row, (event.nativeEvent as MouseEvent).shiftKey)}
      />
    </label>
  )
}

interface RowProps {
  readonly row: WorkerRow
}

const WorkerLink = ({ row: { automation_type: type, worker_id: id } }: RowProps) => (
  <a href={formatRoute({ page: 'worker', type, id })} title={id}>
    <bdi>{id}</bdi>
  </a>
)

const State = ({ row }: RowProps) => (
  <>
    <StateBadge worker={row} />
    {row.connected && (
      <>
        {' '}
        <span className="soft">
          <PlainAge since={row.state_since} />
        </span>
      </>
    )}
  </>
)

/** `14`, or `14 ≠ 12` if generation 14 is saved and 12 is applied. */
function ConfigGeneration({ row }: RowProps) {
  const { config_gen: saved, applied_config_gen: applied } = row
  return (
    <span className={isBehind(row) ? 'warn' : undefined} title={configText(row)}>
      {applied === null || applied === saved ? saved : `${saved} ≠ ${applied}`}
    </span>
  )
}

function LastError({ row: { last_error: error } }: RowProps) {
  if (error === null) return null
  return (
    <bdi className="error" title={cutText(error, ERROR_CHARACTERS * 4)}>
      {cutText(error.slice(0, ERROR_CHARACTERS + 1), ERROR_CHARACTERS).split('… (')[0]}
    </bdi>
  )
}

function Cpu({ row, sparks }: RowProps & { readonly sparks: Sparks }) {
  const stats = liveStats(row)
  if (stats === null) return '–'
  return (
    <>
      <Sparkline sparks={sparks} id={keyOf(row)} />
      <span className="spark-value">{measureText(stats.cpu_pct)} %</span>
    </>
  )
}

const memoryText = (stats: WorkerRow['current_stats']): string =>
  stats === null ? '–' : `${measureText(stats.rss_mb)} MB`
