/**
 * @module dashboard/workers/use-list
 * Returns the filtered and sorted rows of the worker list. They are updated once a second. While the pointer or the
 * focus is inside the list, rows keep their places, and `drift` counts how many would move.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { serverClock } from '../api/session.ts'
import { useServerNow } from '../components/use-now.ts'
import { parseFilter, type Filter } from './filter.ts'
import { driftOf, sortedKeys } from './order.ts'
import type { WorkerRow } from './row.ts'
import { useSnapshot } from './use-workers.ts'

export interface List {
  readonly rows: readonly WorkerRow[]
  /** Another array only when rows may move. */
  readonly keys: readonly string[]
  readonly total: number
  /** Rows that were added, removed or would move while the order is frozen. */
  readonly drift: number
  readonly faults: readonly string[]
  /** Sorts the rows again. */
  readonly reorder: () => void
}

interface Shown {
  readonly q: string
  readonly sort: string
  readonly keys: readonly string[]
}

/** Longer lists are sorted only every three seconds. */
const LARGE = 3_000

/** Changes when the rows are sorted again: once a second, in a long list every three seconds. */
export function useSortTurn(): number {
  const { rows } = useSnapshot()
  const now = useServerNow()
  return rows.size > LARGE ? Math.floor(now / 3) : now
}

/** @param isFrozen Whether rows keep their places. */
export function useList(q: string, sort: string, isFrozen: boolean): List {
  const { rows, version } = useSnapshot()
  const turn = useSortTurn()
  const filter = useMemo(() => parseFilter(q), [q])
  const [sortRequests, setSortRequests] = useState(0)
  // Sorts all rows once a second, not on each of four changes per second, and not on a key press in the filter.
  const inOrder = useMemo(
    () => sortedKeys([...rows.values()], sort, serverClock.nowSeconds()),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [rows, sort, turn, sortRequests, rows.size],
  )
  const fresh = useMemo((): Shown => {
    const nowSeconds = serverClock.nowSeconds()
    return { q, sort, keys: q === '' ? inOrder : inOrder.filter((key) => matches(rows.get(key), filter, nowSeconds)) }
  }, [rows, filter, q, sort, inOrder])
  const shown = useRef<Shown>(fresh)
  const mustFollow =
    !isFrozen || shown.current.q !== q || shown.current.sort !== sort || shown.current.keys.length === 0
  const current = mustFollow ? fresh : shown.current
  useEffect(() => {
    shown.current = current
  })
  const drift = useMemo(() => (current === fresh ? 0 : driftOf(current.keys, fresh.keys)), [current, fresh])
  // `rows` is the same Map in every version.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const listed = useMemo(() => rowsOf(current.keys, rows), [current, rows, version])
  const reorder = (): void => {
    shown.current = { ...fresh, keys: [] }
    setSortRequests(sortRequests + 1)
  }
  return { rows: listed, keys: current.keys, total: rows.size, drift, faults: filter.faults, reorder }
}

const matches = (row: WorkerRow | undefined, filter: Filter, nowSeconds: number): boolean =>
  row !== undefined && filter.matches(row, nowSeconds)

function rowsOf(keys: readonly string[], rows: ReadonlyMap<string, WorkerRow>): readonly WorkerRow[] {
  const found: WorkerRow[] = []
  for (const key of keys) {
    const row = rows.get(key)
    if (row !== undefined) found.push(row)
  }
  return found
}
