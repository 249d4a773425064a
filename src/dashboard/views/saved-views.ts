/** @module dashboard/views/saved-views  Names for addresses of the dashboard, as the browser keeps them. */

export interface SavedView {
  readonly name: string
  /** The address behind the path, such as `#/workers?q=state%3Aerror`. */
  readonly hash: string
}

const MAX_VIEWS = 50
const PAGES = /^#\/(?:workers|tasks|output)(?=[/?]|$)/

/** Whether a view of this address can be saved: lists, not single workers. */
export const isViewable = (hash: string): boolean => PAGES.test(hash) && !hash.startsWith('#/workers/')

/** Ignores what is not a view of a page of the dashboard. */
export function parseViews(text: string | null): readonly SavedView[] {
  let kept: unknown
  try {
    kept = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  if (!Array.isArray(kept)) return []
  return (kept as readonly (Partial<SavedView> | null)[])
    .flatMap((each) => {
      const { name, hash } = each ?? {}
      return typeof name === 'string' && typeof hash === 'string' && isViewable(hash) ? [{ name, hash }] : []
    })
    .slice(0, MAX_VIEWS)
}

/** Adds a view behind the others; one of the same name is replaced in its place. */
export function withView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  const at = views.findIndex(({ name }) => name === view.name)
  return at === -1 ? [...views, view].slice(-MAX_VIEWS) : views.with(at, view)
}
