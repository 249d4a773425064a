/**
 * @module master/registry/routes
 * The rows of the route table that speak of workers.
 * @see D7, D8, D9, D10, D15, D39, D40, D47, D49
 */
import type { Counter } from 'prom-client'
import { Type } from 'typebox'
import {
  AnyObject,
  API_PREFIX,
  ConfigBody,
  DrainBody,
  HistoryBody,
  N,
  RemovedBody,
  Stats,
  StatsQuery,
  StatsSummary,
  Strict,
  toSeconds,
  ValidatedBody,
  WorkerInView,
  WorkersQuery,
  DEFAULT_N,
  type JsonObject,
} from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { RawJson, route, type Route, type RouteRequest } from '../http/route.ts'
import { etagOf } from './etag.ts'
import { claimRoutes } from './claims.ts'
import type { Announce } from './events.ts'
import { listWorkers } from './list.ts'
import { actorOf, ConfigPatcher, validatePatch } from './patch.ts'
import { pollConfig } from './poll.ts'
import { fullStats, historyBody, recordText, summaryStats } from './record.ts'
import { unknownWorker } from './refusals.ts'
import type { Signals } from './signals.ts'

export interface RegistryHooks {
  /** A drain was asked for: waiting reserves of this worker end now. Called on the master that was asked and on the one that holds the socket. */
  onDrain(ref: Ref): void
}

export interface RouteParts {
  readonly deps: MasterDeps
  readonly signals: Signals
  readonly announce: Announce
  readonly regressions: Counter
  readonly hooks: RegistryHooks
}

const WORKERS = `${API_PREFIX}/automations/{type}/workers`
const WORKER = `${WORKERS}/{id}`
const CONFIG = `${WORKER}/config`

const DEFAULT_HISTORY_ROWS = 20
const SummaryQuery = Strict({ view: Type.Optional(Type.Literal('summary')) })
const HistoryQuery = Strict({ limit: Type.Optional(Type.Integer({ ...N, default: DEFAULT_HISTORY_ROWS })) })

const refOf = ({ params }: RouteRequest): Ref => ({ type: params.type, id: params.id })

export function registryRoutes(parts: RouteParts): readonly Route[] {
  return [
    ...recordRoutes(parts),
    ...configRoutes(parts),
    ...actRoutes(parts),
    ...claimRoutes(parts.deps.backend, parts.announce),
  ]
}

function recordRoutes({ deps: { backend } }: RouteParts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: WORKERS,
      access: 'scoped',
      summary: 'The workers of a type, ordered by id.',
      query: WorkersQuery,
      response: Type.Array(WorkerInView),
      handle: ({ entry, query }) => listWorkers(entry, query, backend),
    }),
    route({
      method: 'GET',
      path: WORKER,
      access: 'scoped',
      summary: 'One worker.',
      query: SummaryQuery,
      response: WorkerInView,
      handle: async (request) => {
        const [row] = await backend.workers.get([refOf(request)])
        if (row === null || row === undefined) throw unknownWorker(refOf(request))
        return { body: new RawJson(recordText(row, request.entry, request.query.view)) }
      },
    }),
    route({
      method: 'GET',
      path: `${WORKER}/stats`,
      access: 'scoped',
      summary: 'Statistics of a worker, oldest first.',
      query: StatsQuery,
      response: Type.Array(Type.Union([Stats, StatsSummary])),
      handle: async (request) => {
        const { since = 0, limit = DEFAULT_N.stats, view } = request.query
        const frames = await backend.stats.read(refOf(request), since, limit)
        if (frames === 'not_found') throw unknownWorker(refOf(request))
        return { body: new RawJson(`[${frames.map(view === 'summary' ? summaryStats : fullStats).join(',')}]`) }
      },
    }),
  ]
}

function configRoutes({ deps, signals, announce, regressions }: RouteParts): readonly Route[] {
  const { backend, log, clock } = deps
  const patcher = new ConfigPatcher(deps)
  return [
    route({
      method: 'PATCH',
      path: CONFIG,
      access: 'scoped',
      summary: 'Changes fields of a config.',
      body: AnyObject,
      response: ConfigBody,
      etag: true,
      refuses: ['STALE_GENERATION'],
      reads: {
        'if-match': 'The ETag of the config that the change is meant for; another one there is answered 412.',
        'muster-actor': 'Who makes the change: 1 to 128 printable ASCII characters, kept in the history.',
      },
      example: { enabled: true, slots: 4 },
      handle: async (request) => {
        const ref = refOf(request)
        const actor = actorOf(request.principal, request.header('muster-actor'))
        const patch = request.body as JsonObject
        const { epoch, gen, conn, changed, shown } = await patcher.apply({
          ref,
          entry: request.entry,
          patch,
          actor,
          ifMatch: request.header('if-match'),
        })
        if (conn !== null) signals.tell({ kind: 'config_changed', ref, conn, gen })
        announce('worker.config_changed', ref, {
          config_gen: gen,
          changed: [...changed],
          config_changed_at: toSeconds(clock.wallMs()),
          config_changed_by: actor,
        })
        return { headers: { etag: etagOf({ epoch, gen }) }, body: { config: shown, config_gen: gen } }
      },
    }),
    route({
      method: 'POST',
      path: `${CONFIG}/validate`,
      access: 'scoped',
      summary: 'Checks a PATCH of a config, and changes nothing.',
      body: AnyObject,
      response: ValidatedBody,
      example: { slots: 4 },
      handle: async (request) => ({
        body: await validatePatch(
          { ref: refOf(request), entry: request.entry, patch: request.body as JsonObject },
          backend,
        ),
      }),
    }),
    route({
      method: 'GET',
      path: CONFIG,
      access: 'worker',
      summary: 'The config a worker runs, secrets included.',
      response: ConfigBody,
      etag: true,
      reads: { 'if-none-match': 'The ETag of the config the worker has.' },
      others: { 304: { description: 'That is still the config.' } },
      handle: (request) =>
        pollConfig(refOf(request), request.entry, request.header('if-none-match'), {
          backend,
          log,
          epoch: deps.epoch,
          announce,
          regressions,
        }),
    }),
    route({
      method: 'GET',
      path: `${CONFIG}/history`,
      access: 'scoped',
      summary: 'Past configs of a worker, newest first.',
      query: HistoryQuery,
      response: HistoryBody,
      handle: async (request) => {
        const ref = refOf(request)
        const [[row], history] = await Promise.all([
          backend.configs.get([ref]),
          backend.configs.history(ref, request.query.limit ?? DEFAULT_HISTORY_ROWS),
        ])
        if (row === null || row === undefined) throw unknownWorker(ref)
        return { body: history.map((each) => historyBody(each, request.entry)) }
      },
    }),
  ]
}

function actRoutes({ deps: { backend }, signals, announce, hooks }: RouteParts): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: `${WORKER}/drain`,
      access: 'scoped',
      summary: 'Lets a worker finish its work and end.',
      response: DrainBody,
      handle: async (request) => {
        const ref = refOf(request)
        const [outcome] = await backend.workers.drain([ref])
        if (outcome === 'not_found' || outcome === undefined) throw unknownWorker(ref)
        hooks.onDrain(ref)
        if (outcome.conn !== null) signals.tell({ kind: 'drain', ref, conn: outcome.conn })
        announce('worker.draining', ref, { state: 'DRAINING', draining: true })
        return { body: { worker_id: ref.id, drain: 'requested' } }
      },
    }),
    route({
      method: 'DELETE',
      path: WORKER,
      access: 'scoped',
      summary: 'Forgets a worker; a live one registers again.',
      response: RemovedBody,
      handle: async (request) => {
        const ref = refOf(request)
        const [removed] = await backend.workers.forget([ref])
        if (removed !== true) throw unknownWorker(ref)
        announce('worker.forgotten', ref, {})
        return { body: { worker_id: ref.id, removed: true } }
      },
    }),
  ]
}
