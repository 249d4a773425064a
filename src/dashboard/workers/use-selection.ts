/**
 * @module dashboard/workers/use-selection
 * Manages the selection of workers as a set of IDs. New workers are not selected automatically. Workers hidden by the
 * filter stay selected and are counted. Forgotten workers are removed.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { keyOf, type WorkerRow } from './row.ts'
import { useSnapshot } from './use-workers.ts'

export interface Selection {
  readonly rows: readonly WorkerRow[]
  readonly isSelected: (row: WorkerRow) => boolean
  /** @param isRange Whether the shift key is pressed: selects all rows between the last toggled one and `row`. */
  readonly onToggle: (row: WorkerRow, isRange: boolean) => void
  /** Selects all of these rows, or none if all are selected. */
  readonly onToggleAll: (rows: readonly WorkerRow[]) => void
  readonly all: () => void
  readonly clear: () => void
}

export function useSelection(shown: readonly WorkerRow[]): Selection {
  const { rows, version } = useSnapshot()
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const now = useRef({ shown, last: '' })
  useEffect(() => {
    now.current.shown = shown
  })
  const onToggle = useCallback((row: WorkerRow, isRange: boolean) => {
    const key = keyOf(row)
    const { last } = now.current
    now.current.last = key
    setKeys((before) => {
      if (isRange && before.has(last)) return new Set([...before, ...between(now.current.shown.map(keyOf), last, key)])
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      return after
    })
  }, [])
  const onToggleAll = useCallback((several: readonly WorkerRow[]) => {
    const changed = several.map(keyOf)
    setKeys((before) => {
      const rest = new Set(before)
      if (changed.every((key) => before.has(key))) for (const key of changed) rest.delete(key)
      else for (const key of changed) rest.add(key)
      return rest
    })
  }, [])
  const isSelected = useCallback((row: WorkerRow) => keys.has(keyOf(row)), [keys])
  const selected = useMemo(
    () => [...keys].flatMap((key) => rows.get(key) ?? []),
    // `rows` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [keys, rows, version],
  )
  return {
    rows: selected,
    isSelected,
    onToggle,
    onToggleAll,
    all: () => setKeys(new Set(shown.map(keyOf))),
    clear: () => setKeys(new Set()),
  }
}

function between(keys: readonly string[], one: string, other: string): readonly string[] {
  const [from, to] = [keys.indexOf(one), keys.indexOf(other)].toSorted((a, b) => a - b)
  return from === undefined || to === undefined || from < 0 ? [other] : keys.slice(from, to + 1)
}
