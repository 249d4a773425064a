/**
 * @module master/registry/config-routes
 * The routes of a worker's config: change, dry run, poll and history.
 * @see D7, D8, D10, D13, D39, D46, D49, D86
 */
import { Type } from 'typebox'
import {
  AnyObject,
  ConfigBody,
  HistoryBody,
  N,
  Strict,
  toSeconds,
  ValidatedBody,
  type JsonObject,
} from '../../protocol/index.ts'
import type { Backend, Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { actorOf, requirePermission, type Principal } from '../auth/index.ts'
import { route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import type { InspectionBody } from '../inspections/index.ts'
import { etagOf } from './etag.ts'
import { ConfigPatcher, validatePatch } from './patch.ts'
import { pollConfig } from './poll.ts'
import { historyBody } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'
import { refOf, WORKER, type RegistryRouteDeps } from './worker-path.ts'

const CONFIG = `${WORKER}/config`

/** The config fields that the permission `operate` may set. All others need `configure` (D86). */
export const OPERATED_FIELDS: ReadonlySet<string> = new Set(['enabled', 'slots'])

const DEFAULT_HISTORY_ROWS = 20
/** A config may have up to 256 KiB. */
const HISTORY_ROWS_PER_PIECE = 4
const HistoryQuery = Strict({ limit: Type.Optional(Type.Integer({ ...N, default: DEFAULT_HISTORY_ROWS })) })

export function configRoutes(deps: RegistryRouteDeps): readonly Route[] {
  const { backend } = deps.master
  return [changeRoute(deps), dryRunRoute(backend), pollRoute(deps), historyRoute(deps.master)]
}

function changeRoute(deps: RegistryRouteDeps): Route {
  const patcher = new ConfigPatcher(deps.master)
  return route({
    method: 'PATCH',
    path: CONFIG,
    access: 'scoped',
    needs: ['operate', 'configure'],
    audit: 'config.change',
    summary: 'Changes fields of a config.',
    body: AnyObject,
    response: ConfigBody,
    sends: { ETag: 'ETag' },
    reads: {
      'if-match':
        'The ETag of the config that the change is meant for; the response is 412 if the config has another one.',
      'muster-actor': 'Who makes the change: 1 to 128 printable ASCII characters, kept in the history.',
    },
    example: { enabled: true, slots: 4 },
    handle: (request) => changeConfig(request, patcher, deps),
  })
}

/** Stores the change, then notifies the worker and publishes the event. */
async function changeConfig(
  request: RouteRequest,
  patcher: ConfigPatcher,
  { master, signals, announce }: RegistryRouteDeps,
): Promise<HandlerResult> {
  const ref = refOf(request)
  const actor = actorOf(request.principal, request.header('muster-actor'))
  const patch = request.body as JsonObject
  requireChangePermission(request.principal, ref, patch)
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
    config_changed_at: toSeconds(master.clock.wallMs()),
    config_changed_by: actor,
  })
  return {
    headers: { etag: etagOf({ epoch, gen }) },
    body: { config: shown, config_gen: gen },
    audit: { changed },
  }
}

/** @throws {FleetError} FORBIDDEN if the patch sets a field that `operate` does not cover, without `configure`. */
function requireChangePermission(principal: Principal, { type, id }: Ref, patch: JsonObject): void {
  if (Object.keys(patch).every((name) => OPERATED_FIELDS.has(name))) return
  requirePermission(principal, 'configure', type, id)
}

function dryRunRoute(backend: Backend): Route {
  return route({
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
  })
}

function pollRoute({ master, announce, regressions }: RegistryRouteDeps): Route {
  return route({
    method: 'GET',
    path: CONFIG,
    access: 'worker',
    needs: 'work',
    summary: 'The config a worker runs, secrets included.',
    response: ConfigBody,
    sends: { ETag: 'ETag', 'Muster-Config-Digest': 'ConfigDigest' },
    reads: {
      'if-none-match': 'The ETag of the config the worker has.',
      'muster-config-digest': 'The digest of the config the worker has.',
    },
    others: { 304: { description: 'The config has not changed.' } },
    handle: (request) =>
      pollConfig(
        {
          ref: refOf(request),
          entry: request.entry,
          ifNoneMatch: request.header('if-none-match'),
          digest: request.header('muster-config-digest'),
        },
        { backend: master.backend, log: master.log, epoch: master.epoch, announce, regressions },
      ),
  })
}

function historyRoute({ backend, inspections }: MasterDeps): Route {
  return route({
    method: 'GET',
    path: `${CONFIG}/history`,
    access: 'scoped',
    needs: 'read',
    summary: 'Past configs of a worker, newest first.',
    query: HistoryQuery,
    response: HistoryBody,
    handle: (request) =>
      inspections.respond(request, async (out) => {
        const [row] = await backend.configs.get([refOf(request)])
        if (row === null || row === undefined) throw unknownWorker(refOf(request))
        await writeHistory(out, backend, request, request.query.limit ?? DEFAULT_HISTORY_ROWS)
      }),
  })
}

/** Writes the history. A concurrent change shifts the rows, so rows that were already written are skipped. */
async function writeHistory(
  out: InspectionBody,
  { configs, revisions }: Pick<Backend, 'configs' | 'revisions'>,
  request: RouteRequest,
  limit: number,
): Promise<void> {
  out.text('[')
  let oldest = Infinity
  for (let read = 0; read < limit;) {
    const rows = await out.read(() =>
      configs.history(refOf(request), Math.min(HISTORY_ROWS_PER_PIECE, limit - read), read),
    )
    const names = [...new Set(rows.flatMap(({ bulk }) => (bulk === undefined ? [] : [bulk.revision])))]
    const stored = names.length === 0 ? [] : await out.read(() => revisions.get(request.entry.type, names))
    const revisionOf = (name = ''): string | null => stored[names.indexOf(name)] ?? null
    for (const row of rows.filter(({ gen }) => gen < oldest))
      out.items([JSON.stringify(historyBody(row, request.entry, revisionOf(row.bulk?.revision)))])
    oldest = rows.at(-1)?.gen ?? oldest
    read += rows.length
    if (rows.length < HISTORY_ROWS_PER_PIECE) break
  }
  out.text(']')
}
