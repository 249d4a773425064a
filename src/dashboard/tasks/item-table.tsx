/**
 * @module dashboard/tasks/item-table
 * Shows items with an ID and a payload, such as tasks and pool items, in a table that is as high as its rows.
 */
import type { ReactNode } from 'react'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import { payloadText } from './task-text.ts'
import './list.css'

interface Item {
  readonly id: string
  readonly payload: unknown
}

export interface ItemTableProps<T extends Item> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly items: readonly T[]
  readonly isStale: boolean
  readonly onOpen: (item: T) => void
  readonly onToggle?: (item: T) => void
  readonly isSelected?: (item: T) => boolean
}

export function ItemTable<T extends Item>({ items, isStale, onToggle, ...rest }: ItemTableProps<T>) {
  return (
    <div className={onToggle === undefined ? 'list' : 'list ticked'}>
      <VirtualTable
        {...rest}
        {...(onToggle !== undefined && { onToggle })}
        rows={items}
        keyOf={idOf}
        rowHeight={36}
        cardHeight={136}
        stale={isStale}
      />
    </div>
  )
}

const idOf = ({ id }: Item): string => id

/** The column whose button opens an item. */
export const openColumn = <T extends Item>(name: string, open: (item: T) => void): Column<T> => ({
  name,
  className: 'row-head',
  cell: (item): ReactNode => (
    <button type="button" className="link code" onClick={() => open(item)}>
      <bdi>{item.id}</bdi>
    </button>
  ),
})

/** A column that shows the beginning of a JSON value. */
export const jsonColumn = <T extends Item>(name: string, valueOf: (item: T) => unknown): Column<T> => ({
  name,
  className: 'preview',
  cell: (item) => <bdi className="code">{payloadText(valueOf(item))}</bdi>,
})
