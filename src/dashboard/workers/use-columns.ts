/**
 * @module dashboard/workers/use-columns
 * Returns the columns of the worker list that the user has chosen and that fit, each as wide as its content while there
 * is space. Widths only grow while the page is open, so that columns stand still.
 */
import { useEffect, useMemo, useState, type RefObject } from 'react'
import type { Column } from '../components/virtual-table.tsx'
import { usePreferences } from '../settings/preferences.ts'
import { fitting, shareWidth } from './column-widths.ts'
import { workerColumns, type ColumnDeps } from './columns.tsx'
import { GroupRow, type ListRow } from './grouping.ts'
import type { WorkerRow } from './row.ts'
import { Sparks } from './sparks.ts'
import { useSortTurn } from './use-list.ts'
import { useSnapshot } from './use-workers.ts'

/** Padding of a cell, and space for the arrow of the order. */
const AROUND_PX = 28
const MOST_PX = 1_200
const NARROW_PX = 720

/** The columns without their cells. */
const ALL = workerColumns({ sparks: new Sparks(), onToggle: () => {}, isSelected: () => false })
const MEASURED = ALL.flatMap(({ name, best }) => (typeof best === 'function' ? [{ name, best }] : []))
/** The columns that the user can show and hide, and whether each is shown if the user has not chosen. */
export const COLUMN_CHOICES = ALL.flatMap(({ name, choice }) => (choice === undefined ? [] : [{ name, choice }]))

export function useColumns(
  { sparks, onToggle, isSelected }: ColumnDeps,
  box: RefObject<HTMLElement | null>,
): readonly Column<ListRow>[] {
  const { columns: choices } = usePreferences()
  const available = useWidth(box)
  const longest = useLongest()
  return useMemo(() => {
    const all = workerColumns({ sparks, onToggle, isSelected })
    if (available <= NARROW_PX) return all.map(ofListRows) // A card shows what the style sheet chooses.
    const chosen = all.filter(({ name, choice }) => choice === undefined || (choices[name] ?? choice))
    const wishes = chosen.map((column) => ({ ...column, best: longest.get(column.name) ?? column.least }))
    const shown = fitting(wishes, available)
    const widths = shareWidth(shown, available)
    return shown.map((column, at) => ({ ...ofListRows(column), width: widths[at] ?? column.least }))
  }, [sparks, onToggle, isSelected, choices, available, longest])
}

/** A group has one cell over all columns. */
const ofListRows = (column: Column<WorkerRow>): Column<ListRow> => ({
  ...column,
  cell: (row, index) => (row instanceof GroupRow ? null : column.cell(row, index)),
})

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(() => document.documentElement.clientWidth - 42)
  useEffect(() => {
    if (box.current === null) return undefined
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [box])
  return width
}

/** Pixels of the longest content of each column, by name. */
function useLongest(): ReadonlyMap<string, number> {
  const { rows } = useSnapshot()
  const turn = useSortTurn()
  const [store] = useState(() => new Longest())
  return useMemo(
    () => store.with(rows.values()),
    // `rows` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [store, rows, rows.size, turn],
  )
}

class Longest {
  readonly #texts = new Map<string, string>()
  #pixels: ReadonlyMap<string, number> = new Map()

  /** @returns the same map unless a text is longer than all before. */
  with(rows: Iterable<WorkerRow>): ReadonlyMap<string, number> {
    let isLonger = this.#pixels.size === 0
    for (const row of rows)
      for (const { name, best } of MEASURED) {
        const text = best(row)
        if (text.length <= (this.#texts.get(name)?.length ?? 0)) continue
        this.#texts.set(name, text)
        isLonger = true
      }
    if (isLonger) this.#pixels = this.#measured()
    return this.#pixels
  }

  #measured(): ReadonlyMap<string, number> {
    const pen = document.createElement('canvas').getContext('2d')
    const { fontFamily, fontSize } = getComputedStyle(document.body)
    // Names of workers are bold.
    if (pen !== null) pen.font = `600 ${fontSize} ${fontFamily}`
    const pixels = (text: string): number => Math.min(MOST_PX, (pen?.measureText(text).width ?? 0) + AROUND_PX)
    return new Map(
      ALL.map(({ name, best }) => [
        name,
        typeof best === 'number' ? best : Math.ceil(pixels(this.#texts.get(name) ?? '')),
      ]),
    )
  }
}
