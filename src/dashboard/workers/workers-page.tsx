/**
 * @module dashboard/workers/workers-page
 * The worker list: filter, sort, select and bulk actions. The URL contains filter and order.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useInstalled } from '../api/installed.ts'
import { useSession } from '../api/session.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { countText, plural } from '../components/numbers.ts'
import { VirtualTable } from '../components/virtual-table.tsx'
import type { RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { BulkActions } from './bulk-actions.tsx'
import { workerColumns } from './columns.tsx'
import { FilterHelp } from './filter-help.tsx'
import { keyOf, type WorkerRow } from './row.ts'
import { Sparks } from './sparks.ts'
import { useList, type List } from './use-list.ts'
import { useSelection, type Selection } from './use-selection.ts'
import { useSnapshot, useWorkers } from './use-workers.ts'
import './workers.css'

const ROW_HEIGHT = 36
const CARD_HEIGHT = 80
const open = ({ automation_type: type, worker_id: id }: WorkerRow): void => goTo({ page: 'worker', type, id })

export function WorkersPage({ route }: { readonly route: RouteTo<'workers'> }) {
  const [isInUse, trackUse] = useIsInUse()
  const isWhole = useIsWhole()
  const list = useList(route.q, route.sort, isInUse && isWhole)
  const { rows, total } = list
  const selection = useSelection(rows)
  const sparks = useSparks()
  return (
    <>
      <div className="title">
        <h1>Workers</h1>
        <BulkActions rows={selection.rows} onClear={selection.clear} />
      </div>
      <WorkerFilter route={route} list={list} selection={selection} />
      <WorkersNotice />
      {rows.length > 0 && (
        <div {...trackUse}>
          <WorkerTable route={route} rows={rows} selection={selection} sparks={sparks} />
        </div>
      )}
      {rows.length === 0 && total > 0 && (
        <EmptyState kind="filtered">
          <p>
            No workers match this filter ({countText(total)} in total).{' '}
            <button type="button" className="link" onClick={() => replaceRoute({ page: 'workers', sort: route.sort })}>
              Show all
            </button>
          </p>
        </EmptyState>
      )}
    </>
  )
}

interface WorkerFilterProps {
  readonly route: RouteTo<'workers'>
  readonly list: List
  readonly selection: Selection
}

function WorkerFilter({ route, list: { rows, total, drift, faults, reorder }, selection }: WorkerFilterProps) {
  return (
    <FilterBar
      label="Filter workers"
      value={route.q}
      onChange={(q) => replaceRoute({ ...route, q })}
      placeholder="state:error type:mailer cpu:>80 …"
      fault={faults.length === 0 ? null : faults.join(' ')}
      found={rows.length}
      total={total}
    >
      <FilterHelp />
      {rows.length > 0 && selection.rows.length < rows.length && (
        <button type="button" className="quiet" onClick={selection.all}>
          Select {rows.length === total ? `all ${countText(total)}` : `these ${countText(rows.length)}`}
        </button>
      )}
      {drift > 0 && (
        <button type="button" className="pill" onClick={reorder}>
          {plural(drift, 'row')} moved: re-sort
        </button>
      )}
    </FilterBar>
  )
}

interface WorkerTableProps {
  readonly route: RouteTo<'workers'>
  readonly rows: readonly WorkerRow[]
  readonly selection: Selection
  readonly sparks: SparkHandle
}

function WorkerTable({ route, rows, selection: { onToggle, isSelected }, sparks }: WorkerTableProps) {
  const columns = useMemo(
    () => workerColumns({ sparks: sparks.store, onToggle, isSelected }),
    [sparks.store, onToggle, isSelected],
  )
  return (
    <VirtualTable
      label="Workers"
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      rowHeight={ROW_HEIGHT}
      cardHeight={CARD_HEIGHT}
      sort={route.sort === '' ? 'worker' : route.sort}
      onSort={(sort) => replaceRoute({ ...route, sort: sort === 'worker' ? '' : sort })}
      onOpen={open}
      onToggle={(row) => onToggle(row, false)}
      isSelected={isSelected}
      onView={sparks.onView}
    />
  )
}

/** Whether all pages of every type have been read. */
function useIsWhole(): boolean {
  const { whole } = useSnapshot()
  return useInstalled().automations.every(({ type }) => whole.has(type))
}

/** Notices above the table: why the data is outdated, or why there is none. */
function WorkersNotice() {
  const { problem, refresh } = useWorkers()
  const { rows } = useSnapshot()
  const { automations } = useInstalled()
  const isWhole = useIsWhole()
  if (problem !== undefined && rows.size === 0)
    return (
      <>
        <ErrorPanel problem={problem} onRetry={refresh} />
        <EmptyState kind="unavailable">
          <p>The workers could not be loaded. Retrying automatically.</p>
        </EmptyState>
      </>
    )
  if (problem !== undefined)
    return (
      <ErrorPanel problem={problem} onRetry={refresh}>
        <p>Showing the last loaded data; “Last seen” shows its age.</p>
      </ErrorPanel>
    )
  if (automations.length === 0)
    return (
      <EmptyState kind="nothing" title="No automation is installed">
        <p>The master has no automation that this token covers.</p>
      </EmptyState>
    )
  if (!isWhole)
    return (
      <output className="reading">
        {rows.size === 0 ? 'Loading workers…' : `Loading workers: ${countText(rows.size)} so far…`}
      </output>
    )
  if (rows.size === 0)
    return (
      <EmptyState kind="nothing" title="No worker has registered yet">
        <p>Start a worker and it appears here:</p>
        <p>
          <code>
            SVC_MASTER_URL={location.origin} SVC_WORKER_TOKEN=… SVC_AUTOMATION_TYPE={automations[0]?.type} muster worker
          </code>
        </p>
      </EmptyState>
    )
  return null
}

/** Whether the pointer or the focus is inside the table. Rows must not move then. */
function useIsInUse(): readonly [boolean, object] {
  const [pointed, setPointed] = useState(false)
  const [focused, setFocused] = useState(false)
  return [
    pointed || focused,
    {
      onPointerMove: ({ pointerType, movementX, movementY }: React.PointerEvent) =>
        setPointed((is) => is || (pointerType === 'mouse' && movementX + movementY !== 0)),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: (event: React.FocusEvent) => setFocused(event.currentTarget.contains(event.relatedTarget)),
    },
  ]
}

interface SparkHandle {
  readonly store: Sparks
  /** Called with the visible rows. */
  readonly onView: (rows: readonly WorkerRow[]) => void
}

/** The CPU sparklines of the visible rows. */
function useSparks(): SparkHandle {
  const { api } = useSession()
  const { store: workers } = useWorkers()
  const [store] = useState(() => new Sparks())
  const stop = useRef(new AbortController())
  const inView = useRef<readonly WorkerRow[]>([])
  useEffect(() => {
    stop.current = new AbortController()
    return () => stop.current.abort()
  }, [])
  useEffect(
    () =>
      workers.watch(() => {
        const { rows } = workers.snapshot()
        store.prolong(inView.current.flatMap((row) => rows.get(keyOf(row)) ?? []))
      }),
    [store, workers],
  )
  const onView = useCallback(
    (rows: readonly WorkerRow[]) => {
      inView.current = rows
      store.want(rows, api, stop.current.signal)
    },
    [store, api],
  )
  return { store, onView }
}
