/**
 * @module dashboard/workers/workers-page
 * The worker list: filter, sort, select and bulk actions. The URL contains filter and order.
 */
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react'
import { useInstalled } from '../api/installed.ts'
import { mayUse, serverClock, useSession } from '../api/session.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { countText, plural } from '../components/numbers.ts'
import { useProblemOfPage } from '../components/read-state.tsx'
import { VirtualTable } from '../components/virtual-table.tsx'
import { OperationsLink } from '../operations/operations-link.tsx'
import type { RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { ViewsMenu } from '../views/views-menu.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { ColumnsMenu } from './columns-menu.tsx'
import { FilterHelp } from './filter-help.tsx'
import { GroupCell } from './group-cell.tsx'
import { GROUPINGS, GroupRow, keyOfListRow, type ListRow } from './grouping.ts'
import { rememberList } from './last-list.ts'
import { DEFAULT_SORT } from './order.ts'
import { keyOf, type WorkerRow } from './row.ts'
import { Sparks } from './sparks.ts'
import { StateChipsBar } from './state-chips-bar.tsx'
import { suggestionsOf } from './suggestions.ts'
import { useColumns } from './use-columns.ts'
import { useList, type List } from './use-list.ts'
import { useListRows } from './use-list-rows.ts'
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
  useEffect(() => rememberList(route), [route])
  return (
    <>
      <div className="title">
        <h1>Workers</h1>
        <OperationsLink />
        <ActivityLink />
        <BulkActions rows={selection.rows} onClear={selection.clear} />
      </div>
      <WorkerFilter route={route} list={list} selection={selection} />
      <StateChipsBar route={route} />
      <WorkersNotice />
      {rows.length > 0 && (
        <div className="worker-rows" {...trackUse}>
          <WorkerTable route={route} list={list} selection={selection} sparks={sparks} />
        </div>
      )}
      {rows.length === 0 && total > 0 && (
        <EmptyState kind="filtered">
          <p>
            No workers match this filter ({countText(total)} in total).{' '}
            <button type="button" className="link" onClick={() => replaceRoute({ ...route, q: '' })}>
              Show all
            </button>
          </p>
        </EmptyState>
      )}
    </>
  )
}

function ActivityLink() {
  const { me } = useSession()
  return mayUse(me) ? <a href="#/activity">Activity</a> : null
}

interface WorkerFilterProps {
  readonly route: RouteTo<'workers'>
  readonly list: List
  readonly selection: Selection
}

function WorkerFilter({ route, list: { rows, total, drift, faults, reorder }, selection }: WorkerFilterProps) {
  const { rows: all } = useSnapshot()
  const onChange = (q: string): void => replaceRoute({ ...route, q })
  return (
    <FilterBar
      label="Filter workers"
      value={route.q}
      onChange={onChange}
      onLeave={focusFirstRow}
      suggest={(q, caret) => suggestionsOf(q, caret, all, serverClock.nowSeconds())}
      placeholder="state:error type:mailer cpu:>80 …"
      fault={faults.length === 0 ? null : faults.join(' ')}
      found={rows.length}
      total={total}
    >
      {route.q !== '' && (
        <button type="button" className="quiet" onClick={() => onChange('')}>
          Clear filter
        </button>
      )}
      <FilterHelp onExample={(example) => onChange(`${route.q} ${example}`.trim())} />
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
      <GroupBy route={route} />
      <span className="wide-only">
        <ColumnsMenu />
      </span>
      <ViewsMenu start="#/workers" />
    </FilterBar>
  )
}

function GroupBy({ route }: { readonly route: RouteTo<'workers'> }) {
  return (
    <label className="group-by">
      Group by
      <select
        value={route.group}
        onChange={({ target: { value } }) =>
          replaceRoute({ ...route, group: GROUPINGS.find((each) => each === value) ?? '' })
        }
      >
        <option value="">nothing</option>
        {GROUPINGS.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Moves the focus to the first row in view. */
function focusFirstRow(): void {
  const box = document.querySelector('.worker-rows .scroller')
  const top = box?.querySelector('thead')?.getBoundingClientRect().bottom ?? 0
  const rows = [...(box?.querySelectorAll<HTMLElement>('tr[data-key]') ?? [])]
  rows.find((row) => row.getBoundingClientRect().top >= top - 1)?.focus({ preventScroll: true })
}

interface WorkerTableProps {
  readonly route: RouteTo<'workers'>
  readonly list: List
  readonly selection: Selection
  readonly sparks: SparkHandle
}

function WorkerTable({ route, list, selection, sparks }: WorkerTableProps) {
  const { onToggle, onToggleAll, isSelected } = selection
  const box = useRef<HTMLDivElement>(null)
  const { rows, onToggleGroup } = useListRows(list, route.group)
  const columns = useColumns({ sparks: sparks.store, onToggle, isSelected }, box)
  const isAnySelected = (row: ListRow): boolean =>
    row instanceof GroupRow ? row.rows.every(isSelected) : isSelected(row)
  const groupCell = (row: ListRow): ReactNode =>
    row instanceof GroupRow ? (
      <GroupCell
        group={row}
        isSelected={isAnySelected(row)}
        onSelect={({ rows: members }) => onToggleAll(members)}
        onToggle={onToggleGroup}
      />
    ) : undefined
  return (
    <div ref={box} className="worker-table">
      <VirtualTable
        label="Workers"
        columns={columns}
        rows={rows}
        keyOf={keyOfListRow}
        rowHeight={ROW_HEIGHT}
        cardHeight={CARD_HEIGHT}
        sort={route.sort === '' ? DEFAULT_SORT : route.sort}
        onSort={(sort) => replaceRoute({ ...route, sort: sort === DEFAULT_SORT ? '' : sort })}
        onOpen={(row) => (row instanceof GroupRow ? onToggleGroup(row) : open(row))}
        onToggle={(row) => (row instanceof GroupRow ? onToggleAll(row.rows) : onToggle(row, false))}
        isSelected={isAnySelected}
        wideCell={groupCell}
        onView={sparks.onView}
      />
    </div>
  )
}

/** Whether all pages of every type have been read. */
function useIsWhole(): boolean {
  const { whole } = useSnapshot()
  return useInstalled().automations.every(({ type }) => whole.has(type))
}

/** Notices above the table: why the data is outdated, or why there is none. */
function WorkersNotice() {
  const { problem: failure, refresh } = useWorkers()
  const problem = useProblemOfPage(failure)
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
  readonly onView: (rows: readonly ListRow[]) => void
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
  const load = useCallback(
    () => store.want(document.visibilityState === 'visible' ? inView.current : [], api, stop.current.signal),
    [store, api],
  )
  useEffect(() => {
    document.addEventListener('visibilitychange', load)
    return () => document.removeEventListener('visibilitychange', load)
  }, [load])
  const onView = useCallback(
    (rows: readonly ListRow[]) => {
      inView.current = rows.flatMap((row) => (row instanceof GroupRow ? [] : [row]))
      load()
    },
    [load],
  )
  return { store, onView }
}
