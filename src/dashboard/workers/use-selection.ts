/**
 * @module dashboard/workers/use-selection
 * The selected workers: a fixed list of ids. What arrives later is never in it, what is filtered out stays in it and is
 * counted, what is forgotten leaves it.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { keyOf, type WorkerRow } from './row.ts'
import { useSnapshot } from './use-workers.ts'

export interface Selection {
  readonly rows: readonly WorkerRow[]
  readonly isSelected: (row: WorkerRow) => boolean
  /** @param isRange with the shift key: all from the last one on. */
  readonly onToggle: (row: WorkerRow, isRange: boolean) => void
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
  const isSelected = useCallback((row: WorkerRow) => keys.has(keyOf(row)), [keys])
  const selected = useMemo(
    () => [...keys].flatMap((key) => rows.get(key) ?? []),
    // The map is the same object in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [keys, rows, version],
  )
  return {
    rows: selected,
    isSelected,
    onToggle,
    all: () => setKeys(new Set(shown.map(keyOf))),
    clear: () => setKeys(new Set()),
  }
}

function between(keys: readonly string[], one: string, other: string): readonly string[] {
  const [from, to] = [keys.indexOf(one), keys.indexOf(other)].toSorted((a, b) => a - b)
  return from === undefined || to === undefined || from < 0 ? [other] : keys.slice(from, to + 1)
}
