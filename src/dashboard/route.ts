/**
 * @module dashboard/route
 * Parses and formats the hash routes of the dashboard; `parseRoute` and `formatRoute` are inverses. The address
 * contains filter, tab, sort order and open item, so that a link opens the same view. It never contains the token.
 *
 *   #/?type=&range=   #/workers?q=&sort=&group=   #/workers/{type}/{id}?tab=&view=&diff=&level=&q=&act=
 *   #/tasks   #/tasks/{type}?tab=&range=&group=&place=&label=&q=
 *   #/tasks/{type}/{task_id}
 *   #/operations   #/operations/{type}/{id}   #/activity?type=&object=&actor=&action=
 *   #/output   #/output/{type}?mode=&q=   #/pools   #/pools/{name}   #/automations   #/automations/{type}   #/settings
 *
 * A field with its default value is omitted from the address.
 */

import { DEFAULT_RANGE, RANGES } from './history/ranges.ts'

interface Field {
  readonly fallback: string
  readonly oneOf?: readonly string[]
}

const RANGE = { fallback: DEFAULT_RANGE, oneOf: RANGES } as const

/** The query fields of each page. */
const FIELDS = {
  overview: { type: { fallback: '' }, range: RANGE },
  workers: {
    q: { fallback: '' },
    sort: { fallback: '' },
    group: { fallback: '', oneOf: ['', 'error', 'host', 'generation', 'type'] },
  },
  worker: {
    tab: { fallback: 'summary', oneOf: ['summary', 'slots', 'logs', 'config', 'history'] },
    view: { fallback: 'form', oneOf: ['form', 'json', 'changes'] },
    /** Two generations of the history to compare, `12..14`. */
    diff: { fallback: '' },
    /** The filter of the tab `logs`. */
    level: { fallback: '', oneOf: ['', 'info', 'warn', 'error'] },
    q: { fallback: '' },
    /** The dialog that is open. */
    act: { fallback: '', oneOf: ['', 'pause', 'drain', 'forget'] },
  },
  tasks: {
    tab: { fallback: 'queue', oneOf: ['queue', 'all', 'submit', 'dead'] },
    group: { fallback: '' },
    /** The history of the tab `queue`. */
    range: RANGE,
    /** The filter of the tab `all`. */
    place: { fallback: '', oneOf: ['', 'pending', 'in_flight', 'scheduled', 'dead'] },
    label: { fallback: '' },
    q: { fallback: '' },
  },
  task: {},
  output: { mode: { fallback: 'tail', oneOf: ['tail', 'peek'] }, q: { fallback: '' } },
  operations: {},
  operation: {},
  activity: { type: { fallback: '' }, object: { fallback: '' }, actor: { fallback: '' }, action: { fallback: '' } },
  pools: {},
  automations: {},
  settings: {},
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>

type PageName = keyof typeof FIELDS
type ValueOf<F extends Field> = F extends { readonly oneOf: readonly (infer Word)[] } ? Word : string
type FieldsOf<P extends PageName> = {
  readonly [Name in keyof (typeof FIELDS)[P]]: (typeof FIELDS)[P][Name] extends Field
    ? ValueOf<(typeof FIELDS)[P][Name]>
    : never
}

/** The path parameters of each page. With null as type or name, the page lists the choices. */
interface Paths {
  readonly overview: object
  readonly workers: object
  readonly worker: { readonly type: string; readonly id: string }
  readonly tasks: { readonly type: string | null }
  readonly task: { readonly type: string; readonly id: string }
  readonly output: { readonly type: string | null }
  readonly operations: object
  readonly operation: { readonly type: string; readonly id: string }
  readonly activity: object
  readonly pools: { readonly name: string | null }
  readonly automations: { readonly type: string | null }
  readonly settings: object
}

export type RouteTo<P extends PageName> = { readonly page: P } & Paths[P] & FieldsOf<P>
type KnownRoute = { [P in PageName]: RouteTo<P> }[PageName]
export type Route = KnownRoute | { readonly page: 'unknown'; readonly hash: string }
/** A route with optional query fields, for links. */
export type Target = { [P in PageName]: { readonly page: P } & Paths[P] & Partial<FieldsOf<P>> }[PageName]

export function parseRoute(hash: string): Route {
  const unknown: Route = { page: 'unknown', hash }
  const [path = '', ...query] = hash.replace(/^#?\/?/, '').split('?')
  const parts = decoded(path)
  const found = parts === null ? null : pageOf(parts)
  if (found === null) return unknown
  return { ...found, ...fieldsOf(found.page, new URLSearchParams(query.join('?'))) } as KnownRoute
}

type FoundPage = { readonly page: PageName } & Readonly<Record<string, string | null>>

function pageOf(parts: readonly string[]): FoundPage | null {
  const [page, first, second, ...more] = parts
  if (more.length > 0 || first === '' || second === '') return null
  if (second === undefined) return shortPageOf(page, first)
  if (first === undefined) return null
  if (page === 'workers') return { page: 'worker', type: first, id: second }
  if (page === 'tasks') return { page: 'task', type: first, id: second }
  if (page === 'operations') return { page: 'operation', type: first, id: second }
  return null
}

/** Returns the page of a path with one or two segments. */
function shortPageOf(page: string | undefined, first: string | undefined): FoundPage | null {
  switch (page) {
    case '':
      return first === undefined ? { page: 'overview' } : null
    case 'workers':
    case 'operations':
    case 'activity':
    case 'settings':
      return first === undefined ? { page } : null
    case 'tasks':
    case 'output':
    case 'automations':
      return { page, type: first ?? null }
    case 'pools':
      return { page, name: first ?? null }
    case undefined:
    default:
      return null
  }
}

function fieldsOf(page: PageName, query: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries<Field>(FIELDS[page]).map(([name, { fallback, oneOf }]) => {
      const value = query.get(name) ?? fallback
      return [name, oneOf === undefined || oneOf.includes(value) ? value : fallback]
    }),
  )
}

/** @returns the decoded path segments; null if a segment is not valid percent-encoding. */
function decoded(path: string): readonly string[] | null {
  try {
    return path.split('/').map((part) => decodeURIComponent(part))
  } catch {
    return null // A mistyped or truncated link.
  }
}

export function formatRoute(route: Target | Route): string {
  if (route.page === 'unknown') return route.hash
  const query = new URLSearchParams()
  for (const [name, { fallback }] of Object.entries<Field>(FIELDS[route.page])) {
    const value = (route as Readonly<Record<string, unknown>>)[name]
    if (typeof value === 'string' && value !== fallback) query.set(name, value)
  }
  return `#/${pathOf(route).map(encodeURIComponent).join('/')}${query.size === 0 ? '' : `?${query}`}`
}

function pathOf(route: Target): readonly string[] {
  switch (route.page) {
    case 'overview':
      return ['']
    case 'workers':
    case 'operations':
    case 'activity':
    case 'settings':
      return [route.page]
    case 'worker':
      return ['workers', route.type, route.id]
    case 'task':
      return ['tasks', route.type, route.id]
    case 'operation':
      return ['operations', route.type, route.id]
    case 'tasks':
    case 'output':
    case 'automations':
      return route.type === null ? [route.page] : [route.page, route.type]
    case 'pools':
      return route.name === null ? [route.page] : [route.page, route.name]
  }
}

const named = (all: string, one: string, name: string | null): string => (name === null ? all : `${one} ${name}`)

/** The page title, shown in the browser tab. */
export function titleOf(route: Route): string {
  const of = (name: string | null): string =>
    `${route.page.charAt(0).toUpperCase()}${route.page.slice(1)}${name === null ? '' : ` of ${name}`}`
  switch (route.page) {
    case 'worker':
      return `${route.type}/${route.id}`
    case 'task':
      return `Task ${route.id} of ${route.type}`
    case 'operation':
      return `Operation ${route.id} of ${route.type}`
    case 'unknown':
      return 'Page not found'
    case 'pools':
      return named('Pools', 'Pool', route.name)
    case 'tasks':
    case 'output':
      return of(route.type)
    case 'automations':
      return named('Automations', 'Automation', route.type)
    case 'overview':
    case 'workers':
    case 'operations':
    case 'activity':
    case 'settings':
      return of(null)
  }
}
