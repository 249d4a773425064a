/**
 * @module dashboard/components/virtual-table
 * Renders a virtual table: only the rows in view are in the document (window.ts). All rows have the same height; below
 * 720 px each row is a card of fixed height. `j` and `k`, in a row also `↓` and `↑`, move between rows, `Enter` opens,
 * `x` selects. Heights and widths are set by element styles, which the content security policy allows for scripts.
 */
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/prefer-tag-over-role -- the card layout removes roles */
/* oxlint-disable jsx-a11y/no-interactive-element-to-noninteractive-role -- the card layout removes roles */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- events bubble from the controls inside */
/* oxlint-disable jsx-a11y/control-has-associated-label -- the label is on the controls inside */
import {
  memo,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from 'react'
import { useKeys } from './keys.ts'
import { piecesOf, rangeOf, type Range } from './window.ts'

export interface Column<Row> {
  readonly name: string
  /** Content of the header cell, if not the name. */
  readonly head?: ReactNode
  /** The sort order applied by the first click, `-cpu` for descending; without it the column is not sortable. */
  readonly sort?: string
  readonly className?: string
  /** Width in pixels; without it the style sheet decides. */
  readonly width?: number
  readonly cell: (row: Row, index: number) => ReactNode
}

export interface VirtualTableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly rowHeight: number
  readonly cardHeight: number
  readonly stale?: boolean
  /** The current sort order: `cpu`, or `-cpu` for descending. */
  readonly sort?: string
  readonly onSort?: (sort: string) => void
  readonly onOpen?: (row: Row) => void
  readonly onToggle?: (row: Row) => void
  readonly isSelected?: (row: Row) => boolean
  /** Content of a row that has one cell over all columns; undefined for any other row. */
  readonly wideCell?: (row: Row) => ReactNode
  /** Called with the visible rows after scrolling stops. */
  readonly onView?: (rows: readonly Row[]) => void
}

const narrow = matchMedia('screen and (max-width: 720px)')
const watchNarrow = (act: () => void): (() => void) => {
  narrow.addEventListener('change', act)
  return () => narrow.removeEventListener('change', act)
}
const REST_MS = 300

export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, rows, keyOf, stale = false, isSelected, wideCell, onView } = props
  const isNarrow = useSyncExternalStore(watchNarrow, () => narrow.matches)
  const rowHeight = isNarrow ? props.cardHeight : props.rowHeight
  const scroller = useRef<HTMLDivElement>(null)
  const range = useRange(scroller, rowHeight, rows.length)
  const { focusedIndex, onFocus } = useRowFocus(props, scroller, rowHeight)
  const firstRow = rows[range.first]
  useView(rows, range, firstRow === undefined ? null : keyOf(firstRow), onView)
  return (
    <div ref={scroller} className={stale ? 'scroller stale' : 'scroller'}>
      <table role="table" className="virtual" aria-label={label} aria-rowcount={rows.length + 1} onFocus={onFocus}>
        <Head {...props} />
        <tbody role="rowgroup">
          {piecesOf(range, rows.length, focusedIndex).map((piece) => {
            if (piece.kind === 'space')
              return (
                <tr key={`space ${piece.before}`} role="presentation" className="space">
                  <td role="presentation" colSpan={columns.length} style={{ height: piece.rows * rowHeight }} />
                </tr>
              )
            const row = rows[piece.index]
            if (row === undefined) return null
            const key = keyOf(row)
            const wide = wideCell?.(row)
            if (wide !== undefined)
              return (
                <WideRow key={key} id={key} index={piece.index} height={rowHeight} span={columns.length}>
                  {wide}
                </WideRow>
              )
            return (
              <TableRow
                key={key}
                id={key}
                row={row}
                index={piece.index}
                columns={columns as readonly Column<unknown>[]}
                height={rowHeight}
                isSelected={isSelected?.(row)}
              />
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

interface RowFocus {
  /** Index of the row that has the focus; -1 if none. */
  readonly focusedIndex: number
  readonly onFocus: (event: React.FocusEvent) => void
}

/** Tracks the focused row and handles its keys. */
function useRowFocus<Row>(
  { rows, keyOf, onOpen, onToggle }: VirtualTableProps<Row>,
  scroller: React.RefObject<HTMLDivElement | null>,
  rowHeight: number,
): RowFocus {
  const [focused, setFocused] = useState<string | null>(null)
  const focusedIndex = useMemo(
    () => (focused === null ? -1 : rows.findIndex((row) => keyOf(row) === focused)),
    [focused, rows, keyOf],
  )
  /** The row that gets the focus once it is in the document; -1 if none. */
  const nextIndex = useRef(-1)
  const move = (by: number): void => {
    const index = Math.min(Math.max(0, focusedIndex + by), rows.length - 1)
    const row = rows[index]
    if (row === undefined) return
    nextIndex.current = index
    setFocused(keyOf(row))
    bringIntoView(scroller.current, index, rowHeight)
  }
  useLayoutEffect(() => {
    if (nextIndex.current === -1 || nextIndex.current !== focusedIndex) return
    scroller.current?.querySelector<HTMLElement>(`[data-index="${nextIndex.current}"]`)?.focus({ preventScroll: true })
    nextIndex.current = -1
  })
  const moveInRows =
    (by: number) =>
    (event: KeyboardEvent): void => {
      if (!(event.target instanceof Element) || !event.target.matches('tr')) return
      event.preventDefault() // The list must not scroll as well.
      move(by)
    }
  const row = rows[focusedIndex]
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: moveInRows(1),
    ArrowUp: moveInRows(-1),
    ...(row !== undefined && {
      x: () => onToggle?.(row),
      Enter: (event: KeyboardEvent) => {
        if (event.target instanceof Element && event.target.matches('tr')) onOpen?.(row)
      },
    }),
  })
  return { focusedIndex, onFocus: ({ target }) => setFocused(target.closest('tr')?.dataset['key'] ?? null) }
}

/** The opposite sort direction. */
const turned = (sort: string): string => (sort.startsWith('-') ? sort.slice(1) : `-${sort}`)

type Order = 'none' | 'ascending' | 'descending'

/** Returns how the table is sorted by the column whose sort order is `word`. */
function orderOf(word: string, sort: string): Order {
  if (sort !== word && sort !== turned(word)) return 'none'
  return sort.startsWith('-') ? 'descending' : 'ascending'
}

function orderMark(order: Order | undefined): string {
  if (order === 'ascending') return '▲'
  return order === 'descending' ? '▼' : ''
}

function Head<Row>({ columns, sort = '', onSort }: VirtualTableProps<Row>) {
  return (
    <thead role="rowgroup">
      <tr role="row" aria-rowindex={1}>
        {columns.map(({ name, head, sort: word, className, width }) => {
          const order = word === undefined ? undefined : orderOf(word, sort)
          return (
            <th
              key={name}
              role="columnheader"
              scope="col"
              className={className}
              aria-sort={order}
              style={width === undefined ? undefined : { width }}
            >
              {word === undefined ? (
                (head ?? name)
              ) : (
                <button type="button" className="sort" onClick={() => onSort?.(sort === word ? turned(word) : word)}>
                  {head ?? name}
                  <span aria-hidden="true" className="order">
                    {orderMark(order)}
                  </span>
                </button>
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

interface WideRowProps {
  readonly id: string
  readonly index: number
  readonly height: number
  /** Number of columns. */
  readonly span: number
  readonly children: ReactNode
}

function WideRow({ id, index, height, span, children }: WideRowProps) {
  return (
    <tr
      role="row"
      className="wide-row"
      tabIndex={-1}
      data-key={id}
      data-index={index}
      aria-rowindex={index + 2}
      style={{ height }}
    >
      <td role="cell" colSpan={span} aria-colspan={span}>
        {children}
      </td>
    </tr>
  )
}

interface TableRowProps {
  readonly id: string
  readonly row: unknown
  readonly index: number
  readonly columns: readonly Column<unknown>[]
  readonly height: number
  readonly isSelected: boolean | undefined
}

const TableRow = memo(function TableRow({ id, row, index, columns, height, isSelected }: TableRowProps) {
  return (
    <tr
      role="row"
      tabIndex={-1}
      data-key={id}
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      style={{ height }}
    >
      {columns.map(({ name, className, cell }, at) =>
        at === 0 || className?.includes('row-head') === true ? (
          <th
            key={name}
            role={className?.includes('row-head') === true ? 'rowheader' : 'cell'}
            scope="row"
            data-label={name}
            className={className}
          >
            {cell(row, index)}
          </th>
        ) : (
          <td key={name} role="cell" data-label={name} className={className}>
            {cell(row, index)}
          </td>
        ),
      )}
    </tr>
  )
})

function useRange(scroller: React.RefObject<HTMLDivElement | null>, rowHeight: number, count: number): Range {
  const [view, setView] = useState({ top: 0, height: 900 })
  useEffect(() => {
    const box = scroller.current
    if (box === null) return undefined
    const measure = (): void => {
      // Rounded to four rows, so that scrolling a few pixels does not render.
      const top = Math.floor(box.scrollTop / (rowHeight * 4)) * rowHeight * 4
      setView((last) =>
        last.top === top && last.height === box.clientHeight ? last : { top, height: box.clientHeight },
      )
    }
    const observer = new ResizeObserver(measure)
    observer.observe(box)
    box.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      box.removeEventListener('scroll', measure)
    }
  }, [scroller, rowHeight])
  return rangeOf(view.top, view.height + rowHeight * 4, rowHeight, count)
}

/** Calls `onView` with the visible rows once they have not been scrolled or reordered for 300 ms. */
function useView<Row>(
  rows: readonly Row[],
  { first, end }: Range,
  firstKey: string | null,
  onView: ((rows: readonly Row[]) => void) | undefined,
): void {
  const newest = useRef({ rows, onView })
  useEffect(() => {
    newest.current = { rows, onView }
  })
  useEffect(() => {
    if (firstKey === null) return undefined
    const timer = setTimeout(() => newest.current.onView?.(newest.current.rows.slice(first, end)), REST_MS)
    return () => clearTimeout(timer)
  }, [first, end, firstKey])
}

function bringIntoView(box: HTMLElement | null, index: number, rowHeight: number): void {
  if (box === null) return
  const headHeight = box.querySelector('thead')?.clientHeight ?? 0
  const top = index * rowHeight
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + rowHeight + headHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top + rowHeight + headHeight - box.clientHeight
}
