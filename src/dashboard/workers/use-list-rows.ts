/**
 * @module dashboard/workers/use-list-rows
 * Returns the rows of the worker list with those of its groups. Groups and their workers keep their places as long as
 * the rows of the list do.
 */
import { useCallback, useMemo, useState } from 'react'
import { serverClock } from '../api/session.ts'
import { groupLayout, GroupRow, listRows, type Grouping, type ListRow } from './grouping.ts'
import type { List } from './use-list.ts'
import { useSnapshot } from './use-workers.ts'

/** The open groups, also on the way back from a worker. */
let lastOpen: ReadonlySet<string> = new Set()

export interface ListRows {
  readonly rows: readonly ListRow[]
  readonly onToggleGroup: (group: GroupRow) => void
}

/** @param by Empty if the rows are not grouped. */
export function useListRows({ rows, keys }: List, by: Grouping | ''): ListRows {
  const { rows: all, version } = useSnapshot()
  const [open, setOpen] = useState(lastOpen)
  const layout = useMemo(
    () => (by === '' ? null : groupLayout(rows, by, serverClock.nowSeconds())),
    // The array of the keys is another one only when rows may move.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [keys, by],
  )
  const grouped = useMemo(
    () => (layout === null ? null : listRows(layout, all, open)),
    // `all` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [layout, all, open, version],
  )
  const onToggleGroup = useCallback(({ key }: GroupRow): void => {
    setOpen((before) => {
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      lastOpen = after
      return after
    })
  }, [])
  return { rows: grouped ?? rows, onToggleGroup }
}
