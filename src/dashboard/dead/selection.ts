/**
 * @module dashboard/dead/selection
 * Which dead tasks are ticked, by id. What is no longer listed is no longer ticked, so an act is never on more than
 * what is seen.
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

/** The ticked ones in the order of the list. */
export const listed = (selection: Selection, items: readonly { readonly id: string }[]): readonly string[] =>
  items.filter(({ id }) => selection.has(id)).map(({ id }) => id)

/** How a tick box over several looks. */
export function ticked(selection: Selection, ids: readonly string[]): 'all' | 'some' | 'none' {
  const count = ids.filter((id) => selection.has(id)).length
  if (count === 0) return 'none'
  return count === ids.length ? 'all' : 'some'
}
