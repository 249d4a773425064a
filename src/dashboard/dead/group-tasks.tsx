/**
 * @module dashboard/dead/group-tasks
 * Lists the tasks of a group, newest death first, and acts on the selected ones.
 */
import { useCallback, useMemo, useState } from 'react'
import type { DeadGroupBody } from '../../protocol/index.ts'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { ShowMore, useListSize } from '../components/show-more.tsx'
import { Age } from '../components/times.tsx'
import type { Column } from '../components/virtual-table.tsx'
import { ItemTable, jsonColumn, openColumn } from '../tasks/item-table.tsx'
import type { ActionToConfirm } from './actions.ts'
import { groupName, type DeadItem } from './groups.ts'
import { listed, NONE, withIds, type Selection } from './selection.ts'
import { useGroupTasks } from './use-groups.ts'

export interface GroupTasksProps {
  readonly type: string
  readonly group: DeadGroupBody
  readonly isStale: boolean
  readonly onChoose: (action: ActionToConfirm) => void
  readonly onOpen: (item: DeadItem) => void
}

const ERROR_CHARACTERS = 300

export function GroupTasks({ type, group, isStale, onChoose, onOpen }: GroupTasksProps) {
  const size = useListSize([100, 500, 2_000, 10_000])
  const read = useGroupTasks(type, group, size.n)
  return (
    <ReadView read={read}>
      {(items) => (
        <>
          <SelectableTasks
            label={`Dead tasks: ${groupName(group)}`}
            items={items}
            isStale={isStale || read.problem !== undefined}
            onChoose={onChoose}
            onOpen={onOpen}
          />
          {items.length < group.count && (
            <div className="buttons start">
              <span className="soft">{`The newest ${countText(items.length)} of ${countText(group.count)}`}</span>
              <ShowMore size={size} shown={items.length} total={group.count} />
            </div>
          )}
        </>
      )}
    </ReadView>
  )
}

interface SelectableTasksProps extends Pick<GroupTasksProps, 'isStale' | 'onChoose' | 'onOpen'> {
  readonly label: string
  readonly items: readonly DeadItem[]
}

function SelectableTasks({ label, items, isStale, onChoose, onOpen }: SelectableTasksProps) {
  const [selection, select] = useState<Selection>(NONE)
  const ids = useMemo(() => listed(selection, items), [selection, items])
  const tick = useCallback(
    (these: readonly string[], on: boolean): void => select((now) => withIds(now, these, on)),
    [select],
  )
  const columns = useMemo(() => columnsOf(selection, tick, onOpen), [selection, tick, onOpen])
  return (
    <>
      {ids.length > 0 && <SelectionActions ids={ids} onChoose={onChoose} onClear={() => select(NONE)} />}
      <ItemTable
        label={label}
        columns={columns}
        items={items}
        isStale={isStale}
        onOpen={onOpen}
        onToggle={({ id }) => tick([id], !selection.has(id))}
        isSelected={({ id }) => selection.has(id)}
      />
    </>
  )
}

interface SelectionActionsProps extends Pick<GroupTasksProps, 'onChoose'> {
  readonly ids: readonly string[]
  readonly onClear: () => void
}

function SelectionActions({ ids, onChoose, onClear }: SelectionActionsProps) {
  const count = countText(ids.length)
  return (
    <fieldset className="buttons start chosen" aria-label="Selected dead tasks">
      <strong>{count} selected</strong>
      <button type="button" onClick={() => onChoose({ action: 'replay', ids })}>
        Replay {count}…
      </button>
      <button type="button" onClick={() => onChoose({ action: 'remove', ids })}>
        Remove {count}…
      </button>
      <button type="button" className="link" onClick={onClear}>
        Clear selection
      </button>
    </fieldset>
  )
}

const columnsOf = (
  selection: Selection,
  onTick: (ids: readonly string[], on: boolean) => void,
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
