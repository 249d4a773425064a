/**
 * @module dashboard/dead/selection
 * Tracks the selected dead tasks by ID. Tasks that are no longer listed do not count as selected, so an action never
 * affects tasks that are not visible.
 */
export type Selection = ReadonlySet<string>

export const NONE: Selection = new Set()

export function withIds(selection: Selection, ids: readonly string[], on: boolean): Selection {
  const next = new Set(selection)
  for (const id of ids) {
    if (on) next.add(id)
    else next.delete(id)
  }
  return next
}

/** The selected and listed IDs, in list order. */
export const listed = (selection: Selection, items: readonly { readonly id: string }[]): readonly string[] =>
  items.filter(({ id }) => selection.has(id)).map(({ id }) => id)

/** The state of a checkbox for several tasks. */
export function ticked(selection: Selection, ids: readonly string[]): 'all' | 'some' | 'none' {
  const count = ids.filter((id) => selection.has(id)).length
  if (count === 0) return 'none'
  return count === ids.length ? 'all' : 'some'
}
