/**
 * @module master/worker-changes/routes
 * Serves large fleets to clients that keep a list of workers: the list in columns, and then what changed in it (D161).
 *
 *   list, page by page ──cursor of the first page──▶ changes ──cursor──▶ changes ──▶ …
 *        ▲                                              └── is_reset: the log no longer has the cursor ──┐
 *        └───────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * A cursor is the id of an event, so each master of the store continues behind the cursors of the others.
 */
import {
  API_PREFIX,
  RESPONSE_PIECE_BYTES,
  toSeconds,
  WorkerChangesBody,
  WorkerChangesQuery,
  WorkerColumnsBody,
  WorkerColumnsQuery,
  WorkerGroupsBody,
  type WorkerColumns,
} from '../../protocol/index.ts'
import type { Ref, WorkerRow } from '../../storage/index.ts'
import { covers, workerFilter, workersShown, type Principal } from '../auth/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { changedWorkers, type Feed } from '../events/index.ts'
import { route, type Route, type RouteRequest } from '../http/index.ts'
import { shownSnapshot, type FleetSnapshot } from '../metrics/index.ts'
import { workerColumns } from '../registry/index.ts'
import { heartbeatsAfter } from './heartbeats.ts'
import { workerGroups, type GroupView } from './worker-groups.ts'

export interface WorkerChangesDeps extends MasterDeps {
  readonly feed: Pick<Feed, 'newestId' | 'entriesAfter'>
  readonly snapshot: () => Promise<FleetSnapshot>
}

/** Workers in one response. */
const PAGE = 1_000
/** The estimated size of a record without its texts. */
const ROW_BYTES = 512

export function createWorkerChanges(deps: WorkerChangesDeps): Part {
  return { routes: [columnsRoute(deps), changesRoute(deps), groupsRoute(deps)] }
}

function columnsRoute({ backend, clock, feed, inspections }: WorkerChangesDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations/{type}/worker-columns`,
    access: 'scoped',
    needs: 'read',
    summary: 'The workers of a type in columns, ordered by id, and the cursor for what changes afterwards.',
    query: WorkerColumnsQuery,
    response: WorkerColumnsBody,
    compression: 'small',
    handle: async (request) => {
      const { entry, query, principal } = request
      const { after = null, limit = PAGE } = query
      const cursor = feed.newestId // Before the read, so that no change is missed.
      const readPage = (from: string | null): Promise<readonly WorkerRow[]> =>
        inspections.piece(request, () => backend.workers.page(entry.type, from, limit, RESPONSE_PIECE_BYTES), bytesOf)
      const rows = await shownPage(readPage, after, workerFilter(principal, 'read', entry.type))
      const ts = wholeSeconds(clock.wallMs())
      return { body: { ts, cursor, next: rows.at(-1)?.id ?? null, workers: workerColumns(rows, entry, ts) } }
    },
  })
}

/** @returns the next page with workers that are shown, without the others; empty after the last worker. */
async function shownPage(
  readPage: (after: string | null) => Promise<readonly WorkerRow[]>,
  after: string | null,
  shows: ((id: string) => boolean) | null,
): Promise<readonly WorkerRow[]> {
  const rows = await readPage(after)
  const last = rows.at(-1)
  if (shows === null || last === undefined) return rows
  const shown = rows.filter(({ id }) => shows(id))
  return shown.length > 0 ? shown : shownPage(readPage, last.id, shows)
}

function changesRoute(deps: WorkerChangesDeps): Route {
  const { catalog, clock, feed } = deps
  const statsOf = async (principal: Principal): Promise<FleetSnapshot> =>
    shownSnapshot(await deps.snapshot(), principal)
  return route({
    method: 'GET',
    path: `${API_PREFIX}/worker-changes`,
    access: 'scoped',
    needs: 'read',
    summary:
      'The workers that changed since a cursor, with up to 1,000 statistics, of the types that the token covers.',
    query: WorkerChangesQuery,
    response: WorkerChangesBody,
    compression: 'small',
    handle: async (request) => {
      const { query, principal } = request
      const shows = (type: string): boolean => covers(principal, type) && catalog.has(type)
      const showsWorker = workersShown(principal)
      const read = await feed.entriesAfter(query.since)
      if (read === null) return { body: resetBody(wholeSeconds(clock.wallMs()), feed.newestId) }
      const { entries, hasMore } = read
      const { refs, taken } = changedWorkers(
        entries.map(({ logged }) => logged),
        shows,
        showsWorker,
        PAGE,
      )
      const rows = await readRows(deps, request, refs)
      const ts = wholeSeconds(clock.wallMs())
      const stats =
        query.stats_after === undefined
          ? {}
          : { stats: heartbeatsAfter(await statsOf(principal), query.stats_after, PAGE) }
      return {
        body: {
          ts,
          cursor: entries[taken - 1]?.id ?? query.since,
          is_reset: false,
          has_more: hasMore || taken < entries.length,
          ...changesOf(deps, refs, rows, ts),
          ...stats,
        } satisfies WorkerChangesBody,
      }
    },
  })
}

/** What a token with a list of workers sees of the groups; null for other tokens, which share them. */
function viewOf(principal: Principal, catalog: MasterDeps['catalog']): GroupView | null {
  const filters = new Map([...catalog.keys()].map((type) => [type, workerFilter(principal, 'read', type)]))
  if ([...filters.values()].every((filter) => filter === null)) return null
  return { key: principal.key, shows: (type, id) => filters.get(type)?.(id) ?? true }
}

const resetBody = (ts: number, cursor: string): WorkerChangesBody => ({
  ts,
  cursor,
  is_reset: true,
  has_more: false,
  changed: {},
  removed: {},
})

function groupsRoute(deps: WorkerChangesDeps): Route {
  const groups = workerGroups(deps)
  return route({
    method: 'GET',
    path: `${API_PREFIX}/worker-groups`,
    access: 'scoped',
    needs: 'read',
    summary: 'The workers of each type that the token covers in groups of equal ones, up to 5 s old.',
    response: WorkerGroupsBody,
    compression: 'small',
    handle: async ({ principal }) => {
      const shown = [...deps.catalog.values()].filter(({ type }) => covers(principal, type))
      const { ts, columnsOf } = await groups(viewOf(principal, deps.catalog))
      return { body: { ts, automations: Object.fromEntries(shown.map(({ type }) => [type, columnsOf(type)])) } }
    },
  })
}

async function readRows(
  { backend, inspections }: WorkerChangesDeps,
  request: RouteRequest,
  refs: readonly Ref[],
): Promise<readonly (WorkerRow | null)[]> {
  if (refs.length === 0) return []
  return inspections.piece(
    request,
    () => backend.workers.get(refs),
    (rows) => bytesOf(rows.filter((row) => row !== null)),
  )
}

/** Divides workers by type: those that have a record, and those that have none. */
function changesOf(
  { catalog }: WorkerChangesDeps,
  refs: readonly Ref[],
  rows: readonly (WorkerRow | null)[],
  ts: number,
): Pick<WorkerChangesBody, 'changed' | 'removed'> {
  const changed: Record<string, WorkerColumns> = {}
  const removed: Record<string, string[]> = {}
  for (const entry of catalog.values()) {
    const ofType = refs.map((ref, at) => ({ ...ref, row: rows[at] ?? null })).filter(({ type }) => type === entry.type)
    const found = ofType.flatMap(({ row }) => row ?? []).toSorted((a, b) => compareIds(a.id, b.id))
    const gone = ofType.filter(({ row }) => row === null).map(({ id }) => id)
    if (found.length > 0) changed[entry.type] = workerColumns(found, entry, ts)
    if (gone.length > 0) removed[entry.type] = gone
  }
  return { changed, removed }
}

/** Neighbouring ids are similar, so sorted ones compress better. */
function compareIds(a: string, b: string): number {
  return a < b ? -1 : 1
}

const wholeSeconds = (ms: number): number => Math.floor(toSeconds(ms))

const bytesOf = (rows: readonly WorkerRow[]): number =>
  rows.reduce(
    (sum, row) => sum + row.hardware.length + row.config.config.length + (row.stats?.length ?? 0) + ROW_BYTES,
    0,
  )
