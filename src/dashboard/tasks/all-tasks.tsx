/**
 * @module dashboard/tasks/all-tasks
 * The tab "All tasks": lists the stored tasks of a type by state, label and text, and cancels selected ones. Only
 * listed tasks are cancelled: their IDs are sent, so the master never chooses them (D109, D116).
 */
import { useCallback, useMemo, useState } from 'react'
import type { TaskListBody } from '../../protocol/index.ts'
import { useRead, useRefresh } from '../api/queries.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { SearchForm } from '../components/search-form.tsx'
import { useListSize, type ListSize } from '../components/show-more.tsx'
import { TickBox } from '../components/tick-box.tsx'
import { Age } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { listed, NONE, ticked, withIds, type Selection } from '../dead/selection.ts'
import type { RouteTo } from '../route.ts'
import { goTo } from '../use-route.ts'
import { CancelTasksDialog } from './cancel-tasks-dialog.tsx'
import { ItemTable, jsonColumn, openColumn } from './item-table.tsx'
import {
  labelFault,
  labelsOf,
  PLACE_NAMES,
  queryOf,
  readRows,
  shownLabels,
  type TaskFilter,
  type TaskRow,
  type TaskRows,
} from './task-filter.ts'
import { isLive, labelsText } from './task-text.ts'

const EVERY_MS = 10_000
const STEPS = [100, 500, 1_000, 5_000] as const

type AllRoute = RouteTo<'tasks'> & { readonly type: string }

export function AllTasks({ route }: { readonly route: AllRoute }) {
  const { place, label, q } = route
  return <FilteredTasks key={JSON.stringify([place, label, q])} route={route} />
}

function FilteredTasks({ route }: { readonly route: AllRoute }) {
  const { type } = route
  const query = queryOf(route)
  const size = useListSize(STEPS)
  const [done, setDone] = useState('')
  const refresh = useRefresh()
  const read = useRead(
    ['task-list', type, JSON.stringify(query), size.n],
    EVERY_MS,
    (api, signal) =>
      readRows(size.n, async (page) => {
        const path = ['automations', type, 'tasks']
        return (await api.get<TaskListBody>(path, { ...query, ...page }, signal)).body
      }),
    { keepsShown: true },
  )
  const onDone = (text: string): void => {
    setDone(text)
    refresh(['task-list', type], ['overview'], ['queue', type])
  }
  return (
    <section className="card dead-letters">
      <div className="title">
        <h2>
          All tasks{' '}
          {read.data !== undefined && (
            <span className="count">
              {countText(read.data.items.length)}
              {read.data.hasMore ? '+' : ''}
            </span>
          )}
        </h2>
        <div className="buttons">
          {read.data !== undefined && read.data.items.length > 0 && <SaveTasks type={type} items={read.data.items} />}
          <CopyAs commands={commandsOf(type, route)} />
        </div>
      </div>
      <FilterForm route={route} />
      <output className="done">{done === '' ? null : <bdi>{done}</bdi>}</output>
      <ReadView read={read}>
        {(rows) => (
          <TaskRowsView type={type} rows={rows} size={size} isStale={read.problem !== undefined} onDone={onDone} />
        )}
      </ReadView>
    </section>
  )
}

/** Saves the listed tasks as the API returned them. */
function SaveTasks({ type, items }: { readonly type: string; readonly items: readonly TaskRow[] }) {
  return (
    <Download
      name={`${type}-tasks.ndjson`}
      media="application/x-ndjson"
      make={() => ndjson(items.map((task) => ({ ...task, id: undefined })))}
    >{`Save ${countText(items.length)} as NDJSON`}</Download>
  )
}

function FilterForm({ route }: { readonly route: AllRoute }) {
  const { place, label, q } = route
  return (
    <SearchForm
      choices={[
        { name: 'place', label: 'State', all: 'All states', value: place, options: Object.entries(PLACE_NAMES) },
      ]}
      texts={[
        {
          name: 'q',
          label: 'Text in ID or JSON',
          placeholder: 'Text in ID, payload or labels',
          value: q,
          maxLength: 256,
        },
        {
          name: 'label',
          label: 'Labels',
          placeholder: 'Labels, such as tenant=acme, env=test',
          value: shownLabels(label),
          faultOf: labelFault,
        },
      ]}
      onSearch={(fields) => goTo({ ...route, ...fields, place: fields.place as TaskFilter['place'] })}
    />
  )
}

interface TaskRowsProps {
  readonly type: string
  readonly rows: TaskRows
  readonly size: ListSize
  readonly isStale: boolean
  readonly onDone: (text: string) => void
}

function TaskRowsView({ type, rows: { items, examined, hasMore }, size, isStale, onDone }: TaskRowsProps) {
  const { me } = useSession()
  const canCancel = hasPermission(me, type, 'operate')
  const [selection, setSelection] = useState<Selection>(NONE)
  const [toCancel, setToCancel] = useState<readonly string[] | null>(null)
  const tick = useCallback((ids: readonly string[], on: boolean) => setSelection((now) => withIds(now, ids, on)), [])
  const live = useMemo(() => items.filter(({ place }) => isLive(place)), [items])
  const chosen = useMemo(() => listed(selection, live), [selection, live])
  const close = (text: string | null): void => {
    setToCancel(null)
    if (text === null) return
    setSelection(NONE)
    onDone(text)
  }
  return (
    <>
      {items.length === 0 && <NoTasks examined={examined} />}
      {canCancel && live.length > 0 && (
        <fieldset className="buttons start chosen" aria-label="Selected tasks">
          <TickBox
            label={`Select the ${plural(live.length, 'listed task')} that can be cancelled`}
            state={ticked(
              chosen.length === 0 ? NONE : selection,
              live.map(({ id }) => id),
            )}
            onTick={(on) =>
              tick(
                live.map(({ id }) => id),
                on,
              )
            }
          />
          <strong>{chosen.length === 0 ? 'None' : countText(chosen.length)} selected</strong>
          {chosen.length > 0 && (
            <button type="button" onClick={() => setToCancel(chosen)}>
              Cancel {countText(chosen.length)}…
            </button>
          )}
        </fieldset>
      )}
      {items.length > 0 && (
        <TaskTable type={type} items={items} isStale={isStale} selection={selection} onTick={canCancel ? tick : null} />
      )}
      {hasMore && size.more !== undefined && (
        <button type="button" onClick={() => size.setN(size.more ?? size.n)}>
          {items.length < size.n ? 'Search further' : `Show ${countText(size.more)}`}
        </button>
      )}
      {hasMore && <p className="soft">{plural(examined, 'task')} examined; there may be more.</p>}
      {toCancel !== null && <CancelTasksDialog type={type} ids={toCancel} onClose={close} />}
    </>
  )
}

function NoTasks({ examined }: { readonly examined: number }) {
  return (
    <EmptyState
      kind={examined === 0 ? 'nothing' : 'filtered'}
      title={examined === 0 ? 'No tasks here' : 'No tasks match this filter'}
    >
      <p>
        {examined === 0
          ? 'Finished tasks are not listed; find one by its ID.'
          : `${plural(examined, 'task')} examined. Finished tasks are not listed.`}
      </p>
    </EmptyState>
  )
}

interface TaskTableProps {
  readonly type: string
  readonly items: readonly TaskRow[]
  readonly isStale: boolean
  readonly selection: Selection
  /** Null if the token may not cancel. */
  readonly onTick: ((ids: readonly string[], on: boolean) => void) | null
}

const selectColumn = (
  selection: Selection,
  onTick: (ids: readonly string[], on: boolean) => void,
): Column<TaskRow> => ({
  name: 'Select',
  head: <span className="hidden">Select</span>,
  className: 'select',
  cell: ({ id, place }) =>
    isLive(place) && (
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={selection.has(id)}
        onChange={(event) => onTick([id], event.target.checked)}
      />
    ),
})

const dataColumns = (open: (task: TaskRow) => void): readonly Column<TaskRow>[] => [
  openColumn('Task', open),
  { name: 'State', className: 'short', cell: ({ place }) => PLACE_NAMES[place] },
  { name: 'Submitted', className: 'number short', cell: (task) => <Age at={task.submitted_at} /> },
  {
    name: 'Labels',
    className: 'preview',
    cell: ({ labels = {} }) => <bdi>{labelsText(labels)}</bdi>,
  },
  jsonColumn('Payload', ({ payload }) => payload),
]

function TaskTable({ type, items, isStale, selection, onTick }: TaskTableProps) {
  const open = useCallback(({ id }: TaskRow) => goTo({ page: 'task', type, id }), [type])
  const columns = useMemo(
    () => [...(onTick === null ? [] : [selectColumn(selection, onTick)]), ...dataColumns(open)],
    [selection, onTick, open],
  )
  return (
    <ItemTable
      label="Tasks"
      columns={columns}
      items={items}
      isStale={isStale}
      onOpen={open}
      {...(onTick !== null && {
        onToggle: ({ id, place }: TaskRow) => isLive(place) && onTick([id], !selection.has(id)),
        isSelected: ({ id }: TaskRow) => selection.has(id),
      })}
    />
  )
}

function commandsOf(type: string, filter: TaskFilter) {
  const { place, label, q } = filter
  const flags = [
    ...(place === '' ? [] : ['--place', place]),
    ...labelsOf(label).flatMap((each) => ['--label', each.replace(':', '=')]),
    ...(q === '' ? [] : ['--text', q]),
  ]
  return [
    curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'tasks'], query: queryOf(filter) }),
    musterCommand(apiBase(), 'tasks', 'ls', type, ...flags),
  ]
}
