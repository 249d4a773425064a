/**
 * @module dashboard/workers/column-widths
 * Shares the width of the list between its columns: each gets its least width first, then what its content needs, and
 * the last column takes what is left. Columns that do not fit are left out, the least important first.
 */

export interface Wish {
  /** Pixels below which the column is of no use. */
  readonly least: number
  /** Pixels that show the whole content. */
  readonly best: number
  /** Columns with a lower number are left out earlier. */
  readonly rank: number
}

/** @returns the columns that fit into `available` pixels, in their order. */
export function fitting<C extends Wish>(columns: readonly C[], available: number): readonly C[] {
  const left = [...columns]
  let sum = left.reduce((total, { least }) => total + least, 0)
  while (sum > available && left.length > 1) {
    const lowest = left.reduce((low, each) => (each.rank < low.rank ? each : low))
    left.splice(left.indexOf(lowest), 1)
    sum -= lowest.least
  }
  return left
}

/** @returns the width of each column in pixels, `available` together if the least widths fit. */
export function shareWidth(columns: readonly Wish[], available: number): readonly number[] {
  const spare = Math.max(0, available - columns.reduce((total, { least }) => total + least, 0))
  const wants = columns.map(({ least, best }) => Math.max(0, best - least))
  const all = wants.reduce((total, want) => total + want, 0)
  const share = all === 0 ? 0 : Math.min(1, spare / all)
  const widths = columns.map(({ least }, at) => Math.floor(least + (wants[at] ?? 0) * share))
  const rest = Math.max(0, available - widths.reduce((total, width) => total + width, 0))
  return widths.map((width, at) => (at === widths.length - 1 ? width + rest : width))
}
