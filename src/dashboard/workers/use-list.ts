/**
 * @module dashboard/workers/use-list
 * Which workers the list shows, in which order. It follows the fleet once a second; while a person points at it or has
 * focus inside, rows stay where they are, and `drift` says how many would move.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { serverClock } from '../api/session.ts'
import { useServerNow } from '../parts/use-now.ts'
import { parseFilter, type Filter } from './filter.ts'
import { driftOf, sortedKeys } from './order.ts'
import type { WorkerRow } from './row.ts'
import { useSnapshot } from './use-workers.ts'

export interface List {
  readonly rows: readonly WorkerRow[]
  readonly total: number
  /** Rows that came, went or would move since the order stands still. */
  readonly drift: number
  readonly faults: readonly string[]
  /** Puts the rows where they belong. */
  readonly reorder: () => void
}

interface Shown {
  readonly q: string
  readonly sort: string
  readonly keys: readonly string[]
}

/** A list above this size is put in order every third second only. */
const LARGE = 3_000

export function useList(q: string, sort: string, isHeld: boolean): List {
  const { rows, version } = useSnapshot()
  const now = useServerNow()
  const turn = rows.size > LARGE ? Math.floor(now / 3) : now
  const filter = useMemo(() => parseFilter(q), [q])
  const [asked, setAsked] = useState(0)
  // In turns, not at each of the four changes a second; and all of them at once, so that a key press in the filter sorts nothing.
  const inOrder = useMemo(
    () => sortedKeys([...rows.values()], sort, serverClock.nowSeconds()),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [rows, sort, turn, asked, rows.size],
  )
  const fresh = useMemo((): Shown => {
    const nowSeconds = serverClock.nowSeconds()
    return { q, sort, keys: q === '' ? inOrder : inOrder.filter((key) => matches(rows.get(key), filter, nowSeconds)) }
  }, [rows, filter, q, sort, inOrder])
  const shown = useRef<Shown>(fresh)
  const mustFollow = !isHeld || shown.current.q !== q || shown.current.sort !== sort || shown.current.keys.length === 0
  const current = mustFollow ? fresh : shown.current
  useEffect(() => {
    shown.current = current
  })
  const drift = useMemo(() => (current === fresh ? 0 : driftOf(current.keys, fresh.keys)), [current, fresh])
  // The map is the same object in every version.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const listed = useMemo(() => rowsOf(current.keys, rows), [current, rows, version])
  const reorder = (): void => {
    shown.current = { ...fresh, keys: [] }
    setAsked(asked + 1)
  }
  return { rows: listed, total: rows.size, drift, faults: filter.faults, reorder }
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
