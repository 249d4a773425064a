/**
 * @module master/registry/revision-list
 * The route that lists the revisions of a type, with what workers did under each (D138).
 */
import { toSeconds, type RevisionsBody, RevisionsBody as Response } from '../../protocol/index.ts'
import type { RevisionRow } from '../../storage/index.ts'
import { workersShown } from '../auth/index.ts'
import { route, type Route } from '../http/index.ts'
import type { RegistryRouteDeps } from './worker-path.ts'

export function revisionListRoute(
  path: `/${string}`,
  { master, worstWorkers }: Pick<RegistryRouteDeps, 'master' | 'worstWorkers'>,
): Route {
  return route({
    method: 'GET',
    path,
    access: 'scoped',
    needs: 'read',
    summary: 'The revisions of a type, newest first: the workers that use each, what workers did, the worst workers.',
    response: Response,
    handle: async ({ entry, principal }) => {
      const rows = await master.backend.revisions.list(entry.type)
      const isUsed = rows.some(({ workers }) => workers > 0)
      const worst = isUsed ? await worstWorkers(entry.type) : new Map<string, never>()
      const shows = workersShown(principal)
      const shown = (row: RevisionRow): readonly Item['worst'][number][] =>
        [...(worst.get(row.name) ?? [])].filter(({ worker_id: id }) => shows(entry.type, id))
      return { body: { revisions: rows.map((row) => revisionBody(row, shown(row))) } }
    },
  })
}

type Item = RevisionsBody['revisions'][number]

function revisionBody(row: RevisionRow, worst: Iterable<Item['worst'][number]>): Item {
  return {
    revision: row.name,
    managed_by: row.managedBy,
    created_at: toSeconds(row.createdAtMs),
    created_by: row.actor,
    workers: row.workers,
    first_used_at: row.firstUsedAtMs === null ? null : toSeconds(row.firstUsedAtMs),
    last_used_at: row.lastUsedAtMs === null ? null : toSeconds(row.lastUsedAtMs),
    counters: row.tally,
    worst: [...worst],
  }
}
