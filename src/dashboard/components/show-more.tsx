/**
 * @module dashboard/components/show-more
 * Reads a list in growing steps: the first 20 items, then 100 after a click on "Show 100", and so on.
 */
import { useState } from 'react'
import { countText } from './numbers.ts'

export interface ListSize {
  /** The number of items to read. */
  readonly n: number
  /** The next larger number; undefined after the last step. */
  readonly more: number | undefined
  readonly setN: (n: number) => void
}

export function useListSize(steps: readonly [number, ...number[]]): ListSize {
  const [n, setN] = useState(steps[0])
  return { n, more: steps.find((step) => step > n), setN }
}

export interface ShowMoreProps {
  readonly size: ListSize
  readonly shown: number
  readonly total: number
}

export function ShowMore({ size: { more, setN }, shown, total }: ShowMoreProps) {
  if (shown >= total || more === undefined) return null
  return (
    <button type="button" onClick={() => setN(more)}>
      Show {countText(Math.min(more, total))}
    </button>
  )
}
