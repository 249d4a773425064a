/**
 * @module dashboard/route
 * The page's places as hash routes: `parse` and `format` are inverse of each other. The token never stands here.
 *
 *   #/   #/workers/{type}/{id}   #/tasks/{type}   #/output/{type}   #/pools/{name}   #/automations
 *
 * Tasks, output and pools without a name are the choice of one.
 */

export type Route =
  | { readonly place: 'workers' }
  | { readonly place: 'worker'; readonly type: string; readonly id: string }
  | { readonly place: 'tasks' | 'output' | 'pools'; readonly name: string | null }
  | { readonly place: 'automations' }
  | { readonly place: 'unknown'; readonly hash: string }

export function parseRoute(hash: string): Route {
  const unknown: Route = { place: 'unknown', hash }
  const parts = decoded(hash.replace(/^#?\/?/, ''))
  if (parts === null) return unknown
  const [place, first, second, ...more] = parts
  if (more.length > 0) return unknown
  switch (place) {
    case '': return first === undefined ? { place: 'workers' } : unknown
    case 'workers': return hasText(first) && hasText(second) ? { place: 'worker', type: first, id: second } : unknown
    case 'tasks':
    case 'output':
    case 'pools': return second === undefined && first !== '' ? { place, name: first ?? null } : unknown
    case 'automations': return first === undefined ? { place } : unknown
    case undefined:
    default: return unknown
  }
}

const hasText = (part: string | undefined): part is string => part !== undefined && part !== ''

/** null: a part is not percent-encoding. */
function decoded(path: string): readonly string[] | null {
  try {
    return path.split('/').map((part) => decodeURIComponent(part))
  } catch {
    return null // Typed by hand, or cut off by whoever passed the link on.
  }
}

export function formatRoute(route: Route): string {
  switch (route.place) {
    case 'workers': return '#/'
    case 'worker': return `#/workers/${encodeURIComponent(route.type)}/${encodeURIComponent(route.id)}`
    case 'automations': return '#/automations'
    case 'unknown': return route.hash
    case 'tasks':
    case 'output':
    case 'pools': return route.name === null ? `#/${route.place}` : `#/${route.place}/${encodeURIComponent(route.name)}`
  }
}

/** What the browser's tab is called there. */
export function titleOf(route: Route): string {
  switch (route.place) {
    case 'workers': return 'Workers'
    case 'worker': return `${route.type}/${route.id}`
    case 'automations': return 'Automations'
    case 'unknown': return 'Unknown address'
    case 'tasks':
    case 'output':
    case 'pools': return `${route.place[0]?.toUpperCase()}${route.place.slice(1)}${route.name === null ? '' : ` of ${route.name}`}`
  }
}
