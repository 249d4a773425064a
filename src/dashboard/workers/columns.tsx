/** @module dashboard/workers/columns  Defines the columns of the worker list. */
import { cutText } from '../components/json-text.ts'
import { countText, measureText } from '../components/numbers.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { PlainAge } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { formatRoute } from '../route.ts'
import type { Wish } from './column-widths.ts'
import { configText, isBehind, stateNote } from './display-state.ts'
import { ManagedBadge } from './managed-badge.tsx'
import { managerOf } from './managed.ts'
import { keyOf, liveStats, type WorkerRow } from './row.ts'
import { SlotStepper } from './slot-stepper.tsx'
import { Sparkline } from './sparkline.tsx'
import type { Sparks } from './sparks.ts'
import { useWorkers } from './use-workers.ts'

const ERROR_CHARACTERS = 200

export interface ColumnDeps {
  readonly sparks: Sparks
  readonly onToggle: (row: WorkerRow, isRange: boolean) => void
  readonly isSelected: (row: WorkerRow) => boolean
}

export interface WorkerColumn extends Column<WorkerRow>, Omit<Wish, 'best'> {
  /** Pixels, or the text by which a column is as wide as its longest text. */
  readonly best: number | ((row: WorkerRow) => string)
  /** Whether the column is shown if the user has not chosen; without it the column is always shown. */
  readonly choice?: boolean
}

export function workerColumns({ sparks, onToggle, isSelected }: ColumnDeps): readonly WorkerColumn[] {
  return [
    {
      name: 'Select',
      head: <span className="hidden">Select</span>,
      className: 'w-tick',
      cell: (row) => <SelectBox row={row} isSelected={isSelected(row)} onToggle={onToggle} />,
      least: 40,
      best: 40,
      rank: 100,
    },
    {
      name: 'Worker',
      sort: 'worker',
      className: 'w-id row-head',
      cell: (row) => <WorkerLink row={row} />,
      least: 140,
      best: ({ worker_id: id }) => id,
      rank: 100,
    },
    {
      name: 'State',
      sort: 'state',
      className: 'w-state',
      cell: (row) => <State row={row} />,
      least: 150,
      best: stateWidth,
      rank: 99,
    },
    ...placeColumns,
    ...loadColumns(sparks),
    ...configColumns,
    {
      name: 'Last error',
      sort: 'error',
      className: 'w-error',
      cell: (row) => <LastError row={row} />,
      least: 160,
      best: ({ last_error: error }) => error?.slice(0, ERROR_CHARACTERS) ?? '',
      rank: 80,
      choice: true,
    },
  ]
}

/** What the worker is and where it runs. */
const placeColumns: readonly WorkerColumn[] = [
  {
    name: 'Type',
    sort: 'type',
    className: 'w-type',
    cell: ({ automation_type: type }) => <bdi className="soft">{type}</bdi>,
    least: 88,
    best: ({ automation_type: type }) => type,
    rank: 40,
    choice: true,
  },
  {
    name: 'Host',
    sort: 'host',
    className: 'w-host',
    cell: ({ hardware: { hostname } }) => <bdi className="soft">{hostname}</bdi>,
    least: 100,
    best: ({ hardware: { hostname } }) => hostname,
    rank: 20,
    choice: false,
  },
  {
    name: 'Labels',
    className: 'w-labels',
    cell: (row) => <bdi className="soft">{labelsText(row)}</bdi>,
    least: 100,
    best: labelsText,
    rank: 15,
    choice: false,
  },
]

const loadColumns = (sparks: Sparks): readonly WorkerColumn[] => [
  {
    name: 'Slots',
    sort: 'slots',
    className: 'w-slots number',
    cell: (row) => <RowSlots row={row} />,
    least: 96,
    best: 120,
    rank: 60,
    choice: true,
  },
  {
    name: 'Tasks',
    className: 'w-tasks number',
    cell: ({ tasks_held: tasks }) => tasks ?? '–',
    least: 60,
    best: 72,
    rank: 18,
    choice: false,
  },
  {
    name: 'CPU',
    sort: '-cpu',
    className: 'w-cpu number',
    cell: (row) => <Cpu row={row} sparks={sparks} />,
    least: 140,
    best: 148,
    rank: 70,
    choice: true,
  },
  {
    name: 'Memory',
    sort: '-rss',
    className: 'w-rss number',
    cell: (row) => memoryText(liveStats(row)),
    least: 84,
    best: 100,
    rank: 30,
    choice: true,
  },
]

const configColumns: readonly WorkerColumn[] = [
  {
    name: 'Generation',
    sort: 'config',
    className: 'w-config',
    cell: (row) => <ConfigGeneration row={row} />,
    least: 76,
    best: 92,
    rank: 45,
    choice: true,
  },
  {
    name: 'Managed',
    sort: 'managed',
    className: 'w-managed',
    cell: ({ managed_by: by }) => <ManagedBadge by={by} />,
    least: 110,
    best: ({ managed_by: by }) => (by === null ? '' : `⎈ ${managerOf(by).name}`),
    rank: 25,
    choice: true,
  },
  {
    name: 'Last seen',
    sort: '-seen',
    className: 'w-seen number',
    cell: ({ last_seen: at }) => <PlainAge since={at} />,
    least: 76,
    best: 88,
    rank: 65,
    choice: true,
  },
]

function labelsText({ labels = {} }: WorkerRow): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
}

function stateWidth(row: WorkerRow): string {
  const { connected, state } = row
  return connected ? `● ${state} 59 min${leftText(row)}` : `◌ offline (${stateNote(row, state)}) 59 min`
}

/** The tasks that a draining worker still has; empty if it reports none. */
function leftText({ connected, draining, tasks_held: tasks }: WorkerRow): string {
  return connected && draining && tasks != null ? `, ${countText(tasks)} left` : ''
}

function RowSlots({ row }: RowProps) {
  const { store } = useWorkers()
  return (
    <SlotStepper
      worker={row}
      running={liveStats(row)?.slots ?? null}
      isInRow
      onSaved={({ config, config_gen: gen }) => store.takeOne({ ...row, config, config_gen: gen })}
    />
  )
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
    <StateBadge worker={row} />{' '}
    <span className="soft">
      <PlainAge since={row.connected ? row.state_since : row.last_seen} />
      {leftText(row)}
    </span>
  </>
)

/** `14`, or `14 ≠ 12` if generation 14 is saved and 12 is applied. */
function ConfigGeneration({ row }: RowProps) {
  const { config_gen: saved, applied_config_gen: applied } = row
  return (
    <span className={isBehind(row) ? 'warn generations' : undefined} title={configText(row)}>
      {applied === null || applied === saved ? saved : `${saved} ≠ ${applied}`}
    </span>
  )
}

/** Red only while the worker is in ERROR: otherwise the error is of an earlier run. */
function LastError({ row: { last_error: error, connected, state } }: RowProps) {
  if (error === null) return null
  return (
    <bdi className={connected && state === 'ERROR' ? 'error' : 'soft'} title={cutText(error, ERROR_CHARACTERS * 4)}>
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
