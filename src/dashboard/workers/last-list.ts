/** @module dashboard/workers/last-list  Remembers filter and order of the worker list, for the way back to it. */
import { formatRoute, type RouteTo } from '../route.ts'

let last: RouteTo<'workers'> | null = null

/** Called with each route of the list. */
export function rememberList(route: RouteTo<'workers'>): void {
  last = route
}

export interface WayBack {
  readonly href: string
  /** Empty if the list was not filtered. */
  readonly q: string
}

export const wayBack = (): WayBack => ({
  href: formatRoute(last ?? { page: 'workers' }),
  q: last?.q.trim() ?? '',
})
