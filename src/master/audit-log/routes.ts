/** @module master/audit-log/routes  The route that lists the audit log of the store (D235). */
import { API_PREFIX, AuditBody, AuditQuery, MAX_AUDIT_PAGE, type AuditEntry } from '../../protocol/index.ts'
import type { AuditRow, Backend } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route, type Route } from '../http/index.ts'

/** Entries of a page, if the request does not say. */
const PAGE = 100
/** A request with a filter reads at most this many pages of the log; `next` leads to the rest. */
const MAX_PAGES_READ = 4

type Filter = (entry: AuditEntry) => boolean

export const createAuditLog = (deps: Pick<MasterDeps, 'backend' | 'inspections'>): Part => ({
  routes: [listRoute(deps)],
})

function listRoute({ backend, inspections }: Pick<MasterDeps, 'backend' | 'inspections'>): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/audit`,
    access: 'admin',
    needs: 'fleet',
    summary: 'Who changed what, newest first: the newest 10,000 entries. `next` is the `before` of the next page.',
    query: AuditQuery,
    response: AuditBody,
    handle: (request) =>
      inspections.respond(request, async (out) => {
        const { n = PAGE, before = null, ...filter } = request.query
        const { entries, next } = await out.read(() => pageOf(backend.audit, before, n, matches(filter)))
        out.text('{"entries":[')
        out.items(entries.map((entry) => JSON.stringify(entry)))
        out.text(`],"next":${next}}`)
      }),
  })
}

interface FilterFields {
  readonly type?: string
  readonly object?: string
  readonly actor?: string
  readonly action?: string
}

const matches =
  ({ type, object, actor, action }: FilterFields): Filter =>
  (entry) =>
    (type === undefined || entry.type === type) &&
    (object === undefined || entry.object === object) &&
    (actor === undefined || entry.actor?.name === actor || entry.claimed_actor === actor) &&
    (action === undefined || entry.action === action || entry.action.startsWith(`${action}.`))

async function pageOf(
  audit: Backend['audit'],
  before: number | null,
  limit: number,
  isMatch: Filter,
): Promise<AuditBody> {
  const entries: AuditEntry[] = []
  let from = before
  for (let pages = 0; pages < MAX_PAGES_READ; pages += 1) {
    const rows = await audit.list(from, MAX_AUDIT_PAGE)
    for (const row of rows) {
      const entry = entryOf(row)
      if (isMatch(entry)) entries.push(entry)
      if (entries.length === limit) return { entries, next: row.n > 1 ? row.n : null }
    }
    from = rows.at(-1)?.n ?? null
    if (rows.length < MAX_AUDIT_PAGE || from === null) return { entries, next: null }
  }
  return { entries, next: from }
}

/** Fields that a later release adds are passed on. */
const entryOf = ({ n, entry }: AuditRow): AuditEntry => ({ n, ...(JSON.parse(entry) as Omit<AuditEntry, 'n'>) })
