/**
 * @module master/registry/bulk-routes
 * The routes of revisions and of bulk changes: a revision is stored once, then brought to up to 1,000 workers a call.
 * @see D132, D133
 */
import { createHash } from 'node:crypto'
import {
  API_PREFIX,
  BulkBody,
  BulkResults,
  FleetError,
  isFieldPointer,
  isRevisionName,
  maskSecrets,
  MAX_REVISIONS,
  pointerStep,
  pointerSteps,
  RevisionBody,
  RevisionStoredBody,
  SECRET_MASK,
  secretValues,
  toSeconds,
  type FieldError,
  type JsonObject,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import { actorOf, requirePermission } from '../auth/index.ts'
import { checkNotAfter, NOT_AFTER, route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import { runBulkChange, unknownRevision, type Stored } from './bulk-change.ts'
import type { PlannedItem } from './bulk-plan.ts'
import { forbiddenFaults, textOrFaults } from './config-faults.ts'
import { revisionConfig } from './record.ts'
import { revisionListRoute } from './revision-list.ts'
import type { RegistryRouteDeps } from './worker-path.ts'

const AUTOMATION = `${API_PREFIX}/automations/{type}`
const REVISIONS = `${AUTOMATION}/revisions`
/** The variant of a config that is the revision alone. */
const PLAIN_VARIANT = '-'
const VARIANT_DIGITS = 8

const FULL_RETRY_SECONDS = 60

export function bulkRoutes(deps: RegistryRouteDeps): readonly Route[] {
  return [putRoute(deps), revisionListRoute(REVISIONS, deps), applyRoute(deps)]
}

function putRoute({ master }: RegistryRouteDeps): Route {
  return route({
    method: 'PUT',
    path: `${REVISIONS}/{revision}`,
    access: 'scoped',
    needs: 'configure',
    audit: 'revision.put',
    summary: 'Stores a config under a name. A stored revision is neither replaced nor compared.',
    body: RevisionBody,
    response: RevisionStoredBody,
    example: { config: { enabled: true, slots: 4 } },
    reads: { 'muster-actor': 'Who makes the change: 1 to 128 printable ASCII characters.' },
    handle: (request) => putRevision(request, master.backend),
  })
}

async function putRevision(
  request: RouteRequest<RevisionBody>,
  { revisions }: Pick<RegistryRouteDeps['master']['backend'], 'revisions'>,
): Promise<HandlerResult> {
  const { entry, params, body } = request
  const name = params['revision'] ?? ''
  const config = body.config as JsonObject
  const faults = revisionFaults(name, config, entry)
  if (faults.length > 0) throw new FleetError('INVALID', faults)
  const result = await revisions.put(entry.type, {
    name,
    config: JSON.stringify(config),
    managedBy: body.managed_by ?? null,
    actor: actorOf(request.principal, request.header('muster-actor')),
  })
  if (result === 'full') {
    throw new FleetError(
      'STORAGE_FULL',
      `workers of type ${entry.type} use ${MAX_REVISIONS} revisions; bring them to fewer revisions first`,
      { retryAfterSeconds: FULL_RETRY_SECONDS, outcome: 'not_sent' },
    )
  }
  return { body: { revision: name, created: result === 'stored' }, audit: { count: result === 'stored' ? 1 : 0 } }
}

function revisionFaults(name: string, config: JsonObject, entry: CatalogEntry): readonly FieldError[] {
  if (!isRevisionName(name)) {
    const message = 'must be 1 to 63 characters: a-z, 0-9, "_", "." and "-", the first one a letter or a digit'
    return [{ path: '/revision', message, keyword: 'name', params: {} }]
  }
  const forbidden = forbiddenFaults(config, entry).map(below('/config'))
  if (forbidden.length > 0) return forbidden
  const masked = entry.secrets.filter((path) => secretValues(config, [path])[0] === SECRET_MASK)
  if (masked.length > 0) {
    const message =
      'is masked; a revision contains its secrets. To keep the secrets of the workers, leave it out and use "keep"'
    return masked.map((path) => ({
      path: `/config${path.map(pointerStep).join('')}`,
      message,
      keyword: 'masked',
      params: {},
    }))
  }
  const checked = textOrFaults(revisionConfig(entry, config), entry)
  return typeof checked === 'string' ? [] : checked.map(below('/config'))
}

export const below =
  (prefix: string) =>
  (fault: FieldError): FieldError => ({ ...fault, path: `${prefix}${fault.path}` })

function applyRoute(deps: RegistryRouteDeps): Route {
  return route({
    method: 'POST',
    path: `${AUTOMATION}/configs`,
    access: 'scoped',
    needs: 'configure',
    audit: 'config.apply',
    summary: 'Brings up to 1,000 workers to a revision; one result each, in order.',
    body: BulkBody,
    response: BulkResults,
    example: {
      revision: '2026-11-limits',
      workers: [{ worker_id: 'worker-1', if_match: '0f8fad5b-d9cb-469f-a165-70867728950e.14', if_managed_by: null }],
    },
    reads: {
      'muster-actor':
        'Who makes the change: 1 to 128 printable ASCII characters, kept in the history. ' +
        'The holder of a claim may replace it.',
    },
    handle: (request) => applyRevision(request, deps),
  })
}

/** Stores the change of each worker, then notifies the worker and publishes the event. */
async function applyRevision(
  request: RouteRequest<BulkBody>,
  { master, signals, announce }: RegistryRouteDeps,
): Promise<HandlerResult> {
  const { entry, body, principal } = request
  for (const { worker_id: id } of body.workers) requirePermission(principal, 'configure', entry.type, id)
  const faults = bodyFaults(body, entry)
  if (faults.length > 0) throw new FleetError('INVALID', faults)
  const { revision } = body
  const [fields] = await master.backend.revisions.get(entry.type, [revision])
  if (fields === null || fields === undefined) throw unknownRevision({ revision, entry })
  const holder = request.header('muster-actor')
  const actor = actorOf(principal, holder)
  const managedBy = body.managed_by ?? null
  const changed = new Set<string>()
  let count = 0
  const onStored = (stored: Stored): void => {
    const ref = { type: entry.type, id: stored.id }
    count += 1
    for (const name of stored.changed) changed.add(name)
    if (stored.isClaimed) announce('worker.claimed', ref, { managed_by: managedBy })
    if (stored.changed.length === 0) return
    if (stored.conn !== null) signals.send({ kind: 'config_changed', ref, conn: stored.conn, gen: stored.gen })
    announce('worker.config_changed', ref, {
      config_gen: stored.gen,
      changed: [...stored.changed],
      config_changed_at: toSeconds(master.clock.wallMs()),
      config_changed_by: actor,
    })
  }
  const results = await runBulkChange(
    {
      entry,
      revision,
      base: revisionConfig(entry, JSON.parse(fields) as JsonObject),
      keep: body.keep ?? [],
      managedBy,
      mayReplace: (claim) => principal.role === 'admin' || holder === claim,
      actor,
      isDryRun: body.dry_run === true,
      items: body.workers.map((_, at) => plannedItem(body, at, entry)),
      onStored,
      checkNotAfter: () => checkNotAfter(request.header(NOT_AFTER), master.clock.wallMs()),
    },
    master,
  )
  return { body: { results }, audit: { count, changed: [...changed].toSorted() } }
}

function bodyFaults({ keep, patch, workers }: BulkBody, entry: CatalogEntry): readonly FieldError[] {
  const patchFaults = [
    { path: '/patch', patch },
    ...workers.map((item, at) => ({ path: `/workers/${at}/patch`, patch: item.patch })),
  ]
  const seen = new Map<string, number>()
  const duplicates = workers.flatMap(({ worker_id: id }, at): FieldError[] => {
    const first = seen.get(id)
    seen.set(id, first ?? at)
    const message = `names the worker of /workers/${first}; name each worker once`
    return first === undefined ? [] : [{ path: `/workers/${at}/worker_id`, message, keyword: 'unique', params: {} }]
  })
  return [
    ...(keep ?? []).flatMap((pointer, at) => pointerFaults(pointer, at, entry)),
    ...patchFaults.flatMap((each) => forbiddenFaults((each.patch ?? {}) as JsonObject, entry).map(below(each.path))),
    ...duplicates,
  ]
}

function pointerFaults(pointer: string, at: number, { configSchema, secrets }: CatalogEntry): readonly FieldError[] {
  const fault = (message: string): readonly FieldError[] => [
    { path: `/keep/${at}`, message, keyword: 'pointer', params: {} },
  ]
  if (!isFieldPointer(pointer)) return fault('is not a JSON pointer to a config field; use for example "/targets"')
  const [name = ''] = pointerSteps(pointer)
  if (!Object.hasOwn(configSchema['properties'] ?? {}, name))
    return fault(`names no field of the config schema: there is no ${JSON.stringify(name)}`)
  const inside = secrets.map((path) => path.map(pointerStep).join('')).find((each) => pointer.startsWith(`${each}/`))
  return inside === undefined ? [] : fault(`points into a secret; name the whole secret, "${inside}"`)
}

function plannedItem(body: BulkBody, at: number, entry: CatalogEntry): PlannedItem {
  const item = body.workers[at] as BulkBody['workers'][number]
  const patch = { ...body.patch, ...item.patch } as JsonObject
  const variant = item.variant ?? (item.patch ? undefined : body.variant) ?? variantOf(patch, body.keep ?? [], entry)
  return { ...item, at, patch, variant }
}

/**
 * The variant of an item that names none: 8 hex digits over what is applied on top of the revision. Secrets are masked,
 * because the label is shown.
 */
export function variantOf(patch: JsonObject, keep: readonly string[], { secrets }: CatalogEntry): string {
  if (Object.keys(patch).length === 0 && keep.length === 0) return PLAIN_VARIANT
  const shown = maskSecrets(patch, secrets)
  const sorted = Object.entries(shown).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([sorted, keep]))
    .digest('hex')
    .slice(0, VARIANT_DIGITS)
}
