/**
 * @module dashboard/dead/dead-groups
 * Lists the groups of dead tasks, largest first, with the tasks of the open group.
 */
import { useMemo, useState } from 'react'
import { cutText } from '../components/json-text.ts'
import { countText, plural } from '../components/numbers.ts'
import { TickBox } from '../components/tick-box.tsx'
import { Age } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { ItemTable, jsonColumn, openColumn } from '../tasks/item-table.tsx'
import type { ActionToConfirm } from './actions.ts'
import { groupId, type DeadGroup, type DeadItem } from './groups.ts'
import { ticked, type Selection } from './selection.ts'

export interface DeadGroupsProps {
  readonly route: RouteTo<'tasks'> & { readonly type: string }
  readonly groups: readonly DeadGroup[]
  readonly isStale: boolean
  readonly selection: Selection
  readonly onTick: (ids: readonly string[], on: boolean) => void
  readonly onChoose: (action: ActionToConfirm) => void
  readonly onOpen: (item: DeadItem) => void
}

const ERROR_CHARACTERS = 300

const MORE_GROUPS = 50

export function DeadGroups({ route, groups, ...rest }: DeadGroupsProps) {
  const [most, setMost] = useState(MORE_GROUPS)
  return (
    <>
      <ul className="groups" aria-label="Groups by error">
        {groups.slice(0, most).map((group) => (
          <DeadGroupRow key={group.key} route={route} group={group} isOnly={groups.length === 1} {...rest} />
        ))}
      </ul>
      {groups.length > most && (
        <div className="buttons start">
          <button type="button" onClick={() => setMost(most + MORE_GROUPS)}>
            {`Show ${countText(Math.min(MORE_GROUPS, groups.length - most))} ` +
              `more of ${countText(groups.length)} groups`}
          </button>
        </div>
      )}
    </>
  )
}

type DeadGroupRowProps = Omit<DeadGroupsProps, 'groups'> & { readonly group: DeadGroup; readonly isOnly: boolean }

function DeadGroupRow({ route, group, isOnly, isStale, selection, onTick, onChoose, onOpen }: DeadGroupRowProps) {
  const { items, error, key } = group
  const isOpen = isOnly || route.group === groupId(key)
  const ids = useMemo(() => items.map(({ id }) => id), [items])
  const count = countText(ids.length)
  const name = error === null ? 'no error recorded' : cutText(error, ERROR_CHARACTERS)
  return (
    <li className="group">
      <div className="group-head">
        <TickBox
          label={`Select the ${plural(ids.length, 'task')} of this group`}
          state={ticked(selection, ids)}
          onTick={(on) => onTick(ids, on)}
        />
        <div className="group-text">
          <p className="group-error">
            <bdi>{name}</bdi>
          </p>
          <p className="soft">
            {plural(ids.length, 'task')} · first died <Age at={group.firstDiedAt} />
            {ids.length > 1 && (
              <>
                , last <Age at={group.lastDiedAt} />
              </>
            )}
          </p>
        </div>
        <div className="buttons">
          {!isOnly && (
            <a
              className="button"
              href={formatRoute({ ...route, group: isOpen ? '' : groupId(key) })}
              aria-expanded={isOpen}
            >
              {isOpen ? 'Hide' : 'Show'} {count}
            </a>
          )}
          <ActionButtons ids={ids} onChoose={onChoose} />
        </div>
      </div>
      {isOpen && (
        <DeadTaskTable
          label={`Dead tasks: ${name}`}
          items={items}
          isStale={isStale}
          selection={selection}
          onTick={onTick}
          onOpen={onOpen}
        />
      )}
    </li>
  )
}

export function ActionButtons({
  ids,
  onChoose,
}: Pick<DeadGroupRowProps, 'onChoose'> & { readonly ids: readonly string[] }) {
  const count = countText(ids.length)
  return (
    <>
      <button type="button" onClick={() => onChoose({ action: 'replay', ids })}>
        Replay {count}…
      </button>
      <button type="button" onClick={() => onChoose({ action: 'remove', ids })}>
        Remove {count}…
      </button>
    </>
  )
}

interface DeadTaskTableProps {
  readonly label: string
  readonly items: readonly DeadItem[]
  readonly isStale: boolean
  readonly selection: Selection
  readonly onTick: DeadGroupsProps['onTick']
  readonly onOpen: DeadGroupsProps['onOpen']
}

const columnsOf = (
  selection: Selection,
  onTick: DeadGroupsProps['onTick'],
  open: (item: DeadItem) => void,
): readonly Column<DeadItem>[] => [
  {
    name: 'Select',
    head: <span className="hidden">Select</span>,
    className: 'select',
    cell: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={selection.has(id)}
        onChange={(event) => onTick([id], event.target.checked)}
      />
    ),
  },
  openColumn('Task', open),
  { name: 'Attempts', className: 'number short', cell: ({ attempt, max_attempts: most }) => `${attempt} of ${most}` },
  { name: 'Died', className: 'number short', cell: (item) => <Age at={item.died_at} /> },
  {
    name: 'Error',
    className: 'preview',
    cell: ({ last_error: error }) => <bdi>{error === null ? '–' : error.slice(0, ERROR_CHARACTERS)}</bdi>,
  },
  jsonColumn('Payload', ({ payload }) => payload),
]

function DeadTaskTable({ label, items, isStale, selection, onTick, onOpen }: DeadTaskTableProps) {
  const columns = useMemo(() => columnsOf(selection, onTick, onOpen), [selection, onTick, onOpen])
  return (
    <ItemTable
      label={label}
      columns={columns}
      items={items}
      isStale={isStale}
      onOpen={onOpen}
      onToggle={({ id }) => onTick([id], !selection.has(id))}
      isSelected={({ id }) => selection.has(id)}
    />
  )
}
