/**
 * @module master/registry/routes
 * The routes of workers: records, statistics, drain and delete, with those of configs and claims.
 * @see D7, D9, D15, D40, D47
 */
import { Type } from 'typebox'
import {
  DEFAULT_N,
  DrainBody,
  RemovedBody,
  Stats,
  StatsQuery,
  StatsSummary,
  Strict,
  WorkerInView,
  WorkersQuery,
} from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { actorOf } from '../auth/index.ts'
import { RawJson, route, type Route } from '../http/index.ts'
import { bulkRoutes } from './bulk-routes.ts'
import { claimRoutes } from './claims.ts'
import { configRoutes } from './config-routes.ts'
import { drainWorkers } from './drain.ts'
import { enrolmentRoutes } from './enrolment-routes.ts'
import { listWorkers } from './list.ts'
import { fullStats, recordText, summaryStats } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'
import { refOf, WORKER, WORKERS, type RegistryRouteDeps } from './worker-path.ts'

const SummaryQuery = Strict({ view: Type.Optional(Type.Literal('summary')) })

export function registryRoutes(deps: RegistryRouteDeps): readonly Route[] {
  const { master, announce } = deps
  return [
    listRoute(master),
    recordRoute(master.backend),
    statsRoute(master),
    ...configRoutes(deps),
    ...bulkRoutes(deps),
    ...enrolmentRoutes(master),
    drainRoute(deps),
    deleteRoute(deps),
    ...claimRoutes(master.backend, announce),
  ]
}

function listRoute({ backend, inspections }: MasterDeps): Route {
  return route({
    method: 'GET',
    path: WORKERS,
    access: 'scoped',
    needs: 'read',
    summary: 'The workers of a type, ordered by id.',
    query: WorkersQuery,
    response: Type.Array(WorkerInView),
    handle: (request) => listWorkers(request, { backend, inspections }),
  })
}

function recordRoute({ workers }: Backend): Route {
  return route({
    method: 'GET',
    path: WORKER,
    access: 'scoped',
    needs: 'read',
    summary: 'One worker.',
    query: SummaryQuery,
    response: WorkerInView,
    handle: async (request) => {
      const [row] = await workers.get([refOf(request)])
      if (row === null || row === undefined) throw unknownWorker(refOf(request))
      return { body: new RawJson(recordText(row, request.entry, request.query.view)) }
    },
  })
}

function statsRoute({ backend, inspections }: MasterDeps): Route {
  return route({
    method: 'GET',
    path: `${WORKER}/stats`,
    access: 'scoped',
    needs: 'read',
    summary: 'Statistics of a worker, oldest first.',
    query: StatsQuery,
    response: Type.Array(Type.Union([Stats, StatsSummary])),
    handle: (request) =>
      inspections.respond(request, async (out) => {
        const { since = 0, limit = DEFAULT_N.stats, view } = request.query
        const stats = await out.read(() => backend.stats.read(refOf(request), since, limit))
        if (stats.kind === 'not_found') throw unknownWorker(refOf(request))
        out.text('[')
        out.items(stats.frames.map(view === 'summary' ? summaryStats : fullStats))
        out.text(']')
      }),
  })
}

function drainRoute(deps: RegistryRouteDeps): Route {
  return route({
    method: 'POST',
    path: `${WORKER}/drain`,
    access: 'scoped',
    needs: 'operate',
    audit: 'worker.drain',
    refuses: ['INVALID'], // A wrong name of the caller.
    summary: 'Drains a worker: it finishes its work and exits.',
    response: DrainBody,
    reads: { 'muster-actor': 'Who drains the worker: 1 to 128 printable ASCII characters, shown with the drain.' },
    handle: async (request) => {
      const ref = refOf(request)
      const actor = actorOf(request.principal, request.header('muster-actor'))
      const [isDraining] = await drainWorkers([ref], actor, deps)
      if (isDraining !== true) throw unknownWorker(ref)
      return { body: { worker_id: ref.id, drain: 'requested' } }
    },
  })
}

function deleteRoute({ master: { backend }, announce }: RegistryRouteDeps): Route {
  return route({
    method: 'DELETE',
    path: WORKER,
    access: 'scoped',
    needs: 'operate',
    audit: 'worker.forget',
    summary: 'Deletes the record of a worker; a running worker registers again.',
    response: RemovedBody,
    handle: async (request) => {
      const ref = refOf(request)
      const [removed] = await backend.workers.forget([ref])
      if (removed !== true) throw unknownWorker(ref)
      announce('worker.forgotten', ref, {})
      return { body: { worker_id: ref.id, removed: true } }
    },
  })
}
