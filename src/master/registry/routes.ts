/**
 * @module master/registry/routes
 * The routes of workers: records, configs, statistics, history, drain and delete.
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
import type { Configs, Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { requirePermission } from '../auth/index.ts'
import { RawJson, route, type Route, type RouteRequest } from '../http/route.ts'
import type { PieceReader } from '../inspections/index.ts'
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
  /** Called on every master after a drain was requested: waiting reserves of this worker must end now. */
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

/** The config fields that the permission `operate` may set. All others need `configure` (D86). */
const OPERATED_FIELDS: ReadonlySet<string> = new Set(['enabled', 'slots'])

const DEFAULT_HISTORY_ROWS = 20
/** A config may have up to 256 KiB. */
const HISTORY_ROWS_PER_PIECE = 4
const SummaryQuery = Strict({ view: Type.Optional(Type.Literal('summary')) })
const HistoryQuery = Strict({ limit: Type.Optional(Type.Integer({ ...N, default: DEFAULT_HISTORY_ROWS })) })

const refOf = ({ params }: RouteRequest): Ref => ({ type: params.type, id: params.id })

export function registryRoutes(parts: RouteParts): readonly Route[] {
  return [
    ...recordRoutes(parts),
    ...configRoutes(parts),
    ...actionRoutes(parts),
    ...claimRoutes(parts.deps.backend, parts.announce),
  ]
}

function recordRoutes({ deps: { backend, inspections } }: RouteParts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: WORKERS,
      access: 'scoped',
      needs: 'read',
      summary: 'The workers of a type, ordered by id.',
      query: WorkersQuery,
      response: Type.Array(WorkerInView),
      handle: (request) => listWorkers(request, { backend, inspections }),
    }),
    route({
      method: 'GET',
      path: WORKER,
      access: 'scoped',
      needs: 'read',
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
      needs: 'read',
      summary: 'Statistics of a worker, oldest first.',
      query: StatsQuery,
      response: Type.Array(Type.Union([Stats, StatsSummary])),
      handle: (request) =>
        inspections.respond(request, async (out) => {
          const { since = 0, limit = DEFAULT_N.stats, view } = request.query
          const frames = await out.read(() => backend.stats.read(refOf(request), since, limit))
          if (frames === 'not_found') throw unknownWorker(refOf(request))
          out.text('[')
          out.items(frames.map(view === 'summary' ? summaryStats : fullStats))
          out.text(']')
        }),
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
      needs: ['operate', 'configure'],
      audit: 'config.change',
      summary: 'Changes fields of a config.',
      body: AnyObject,
      response: ConfigBody,
      etag: true,
      refuses: ['STALE_GENERATION'],
      reads: {
        'if-match':
          'The ETag of the config that the change is meant for; the response is 412 if the config has another one.',
        'muster-actor': 'Who makes the change: 1 to 128 printable ASCII characters, kept in the history.',
      },
      example: { enabled: true, slots: 4 },
      handle: async (request) => {
        const ref = refOf(request)
        const actor = actorOf(request.principal, request.header('muster-actor'))
        const patch = request.body as JsonObject
        if (!Object.keys(patch).every((name) => OPERATED_FIELDS.has(name)))
          requirePermission(request.principal, 'configure')
        const { epoch, gen, conn, changed, shown } = await patcher.apply({
          ref,
          entry: request.entry,
          patch,
          actor,
          ifMatch: request.header('if-match'),
        })
        if (conn !== null) signals.send({ kind: 'config_changed', ref, conn, gen })
        announce('worker.config_changed', ref, {
          config_gen: gen,
          changed: [...changed],
          config_changed_at: toSeconds(clock.wallMs()),
          config_changed_by: actor,
        })
        return {
          headers: { etag: etagOf({ epoch, gen }) },
          body: { config: shown, config_gen: gen },
          audit: { changed },
        }
      },
    }),
    route({
      method: 'POST',
      path: `${CONFIG}/validate`,
      access: 'scoped',
      needs: 'read',
      isDryRun: true,
      refuses: ['RATE_LIMITED'],
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
      needs: 'work',
      summary: 'The config a worker runs, secrets included.',
      response: ConfigBody,
      etag: true,
      reads: { 'if-none-match': 'The ETag of the config the worker has.' },
      others: { 304: { description: 'The config has not changed.' } },
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
      needs: 'read',
      summary: 'Past configs of a worker, newest first.',
      query: HistoryQuery,
      response: HistoryBody,
      handle: (request) =>
        deps.inspections.respond(request, async (out) => {
          const [row] = await backend.configs.get([refOf(request)])
          if (row === null || row === undefined) throw unknownWorker(refOf(request))
          await writeHistory(out, backend.configs, request, request.query.limit ?? DEFAULT_HISTORY_ROWS)
        }),
    }),
  ]
}

/** Writes the history. A concurrent change shifts the rows, so rows that were already written are skipped. */
async function writeHistory(out: PieceReader, configs: Configs, request: RouteRequest, limit: number): Promise<void> {
  out.text('[')
  let oldest = Infinity
  for (let read = 0; read < limit;) {
    const rows = await out.read(() =>
      configs.history(refOf(request), Math.min(HISTORY_ROWS_PER_PIECE, limit - read), read),
    )
    for (const row of rows.filter(({ gen }) => gen < oldest))
      out.items([JSON.stringify(historyBody(row, request.entry))])
    oldest = rows.at(-1)?.gen ?? oldest
    read += rows.length
    if (rows.length < HISTORY_ROWS_PER_PIECE) break
  }
  out.text(']')
}

function actionRoutes({ deps: { backend }, signals, announce, hooks }: RouteParts): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: `${WORKER}/drain`,
      access: 'scoped',
      needs: 'operate',
      audit: 'worker.drain',
      summary: 'Drains a worker: it finishes its work and exits.',
      response: DrainBody,
      handle: async (request) => {
        const ref = refOf(request)
        const [outcome] = await backend.workers.drain([ref])
        if (outcome === 'not_found' || outcome === undefined) throw unknownWorker(ref)
        hooks.onDrain(ref)
        await signals.drain(ref, outcome.conn)
        announce('worker.draining', ref, { state: 'DRAINING', draining: true })
        return { body: { worker_id: ref.id, drain: 'requested' } }
      },
    }),
    route({
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
    }),
  ]
}
