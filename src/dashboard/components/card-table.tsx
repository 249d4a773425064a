/**
 * @module dashboard/components/card-table
 * Renders a table whose rows become cards on narrow screens. The card layout removes the implicit ARIA roles of table
 * elements, so every role is explicit. Each cell carries the name of its column.
 */
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/prefer-tag-over-role -- see above */
/* oxlint-disable jsx-a11y/no-interactive-element-to-noninteractive-role -- see above */
import type { ReactNode } from 'react'

export interface CardTableProps {
  readonly label: string
  readonly columns: readonly string[]
  /** The columns whose cells have the class `number`; none by default. */
  readonly numbers?: readonly string[]
  /** Whether the data are stale and shown dimmed. */
  readonly stale: boolean
  readonly children: ReactNode
}

export function CardTable({ label, columns, numbers = [], stale, children }: CardTableProps) {
  return (
    <table role="table" className={stale ? 'cards stale' : 'cards'} aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((name) => (
            <th key={name} role="columnheader" scope="col" className={numbers.includes(name) ? 'number' : ''}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  )
}

export function Row({ children }: { readonly children: ReactNode }) {
  return <tr role="row">{children}</tr>
}

interface CellProps {
  /** Name of the cell's column. */
  readonly of: string
  readonly className?: string
  readonly children: ReactNode
}

/** The header cell of a row. */
export function RowHead({ of, children }: CellProps) {
  return (
    <th role="rowheader" scope="row" data-label={of}>
      {children}
    </th>
  )
}

export function Cell({ of, className = '', children }: CellProps) {
  return (
    <td role="cell" data-label={of} className={className}>
      {children}
    </td>
  )
}
