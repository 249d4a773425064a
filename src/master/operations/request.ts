/**
 * @module master/operations/request
 * Checks the request for an operation, and finds the workers that it names or selects.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import {
  FleetError,
  invalid,
  MAX_OPERATION_WORKERS,
  selectsWorker,
  type FieldError,
  type JsonObject,
  type OperationBody,
  type OperationPreviewBody,
  type Permission,
  type WorkerLabels,
} from '../../protocol/index.ts'
import type { Backend, WorkerRow } from '../../storage/index.ts'
import { mayAccessPattern, requirePermission, workerFilter, type Principal } from '../auth/index.ts'
import { OPERATED_FIELDS } from '../registry/index.ts'
import type { Operation } from './operation-store.ts'

/** Workers of one page. Their configs are read with them. */
const PAGE = 200

/** The holder of a token, and the permissions of which it needs one for each worker of an operation. */
export interface Requester {
  readonly principal: Principal
  readonly permissions: readonly Permission[]
  /** Whether values of configs are shown, so that the token must be allowed to read each worker, too. */
  readonly showsValues?: boolean
}

interface Change {
  readonly kind: OperationBody['kind']
  readonly fields: readonly string[]
}

/** The permissions of which one is enough for a worker, as for a change of this worker alone. */
export function permissionsFor({ kind, fields }: Change): readonly Permission[] {
  if (kind !== 'patch') return ['operate']
  return fields.every((name) => OPERATED_FIELDS.has(name)) ? ['operate', 'configure'] : ['configure']
}

/**
 * @returns the permissions of which the token needs one.
 * @throws {FleetError} FORBIDDEN for a change that the permissions of the token do not cover.
 */
export function requireOperationPermission(
  principal: Principal,
  { type }: Pick<CatalogEntry, 'type'>,
  change: Change,
): readonly Permission[] {
  const permissions = permissionsFor(change)
  requirePermission(principal, permissions, type)
  return permissions
}

/**
 * Whether the principal may see an operation: it covers every worker that its creator's token could select.
 * A replay concerns tasks, which belong to their type.
 */
export function coversOperation({ principal, permissions }: Requester, { type, head }: Operation): boolean {
  if (head.kind === 'replay' || workerFilter(principal, permissions, type) === null) return true
  return head.workers?.every((pattern) => mayAccessPattern(principal, permissions, type, pattern)) ?? false
}

/** @throws {FleetError} INVALID with the fields that the kind needs, or does not have. */
export function checkBody(body: OperationBody | OperationPreviewBody, entry: CatalogEntry): void {
  const has = (name: string): boolean => {
    const value = (body as Readonly<Record<string, unknown>>)[name]
    return value !== undefined && value !== null
  }
  const needed = { patch: ['patch'], drain: [], replay: [] }[body.kind]
  const foreign = {
    patch: ['group', 'before'],
    drain: ['patch', 'group', 'before', 'bake_seconds'],
    replay: [...TARGETS, 'patch', 'parallel', 'wait_seconds', 'bake_seconds', 'stop_after', 'stop_share'],
  }[body.kind]
  const faults: FieldError[] = [
    ...needed
      .filter((name) => !has(name))
      .map((name) => fault(`/${name}`, `is required for an operation of kind ${body.kind}`)),
    ...foreign.filter(has).map((name) => fault(`/${name}`, `does not apply to an operation of kind ${body.kind}`)),
  ]
  if (body.kind !== 'replay') faults.push(...targetFaults(has))
  else if (entry.kind !== 'BatchAutomation') faults.push(fault('/kind', `type ${entry.type} has no tasks`))
  if (body.kind === 'patch' && has('patch') && Object.keys(body.patch ?? {}).length === 0)
    faults.push(fault('/patch', 'is empty; name at least one field'))
  if (faults.length > 0) throw new FleetError('INVALID', faults)
}

const SELECTORS = ['id_patterns', 'match_labels'] as const
const TARGETS = ['workers', ...SELECTORS] as const

function targetFaults(has: (name: string) => boolean): readonly FieldError[] {
  const isSelecting = SELECTORS.some(has)
  if (has('workers') && isSelecting) return [fault('/workers', 'cannot be combined with id_patterns or match_labels')]
  return has('workers') || isSelecting
    ? []
    : [fault('/workers', 'is missing: name workers, id_patterns or match_labels')]
}

const fault = (path: string, message: string): FieldError => ({ path, message, keyword: 'operation', params: {} })

/** @returns the fields of the patch. */
export const fieldsOf = (body: { readonly patch?: object | null | undefined }): readonly string[] =>
  Object.keys(body.patch ?? {}).toSorted()

/**
 * @returns the ids of the workers, each once. A selector only selects workers that the requester covers.
 * @throws {FleetError} INVALID if there are too many; FORBIDDEN if one is named that the requester does not cover.
 */
export async function targetsOf(
  body: OperationPreviewBody,
  { type }: CatalogEntry,
  { workers }: Pick<Backend, 'workers'>,
  { principal, permissions, showsValues = false }: Requester,
): Promise<readonly string[]> {
  const needed = showsValues ? [permissions, ['read'] as const] : [permissions]
  if (body.workers !== undefined && body.workers !== null) {
    for (const id of body.workers) for (const each of needed) requirePermission(principal, each, type, id)
    return [...new Set(body.workers)]
  }
  const filters = needed.map((each) => workerFilter(principal, each, type))
  const selects = selectionOf(body, (id) => filters.every((covers) => covers === null || covers(id)))
  const ids: string[] = []
  for (let after: string | null = null; ;) {
    const rows = await workers.page(type, after, PAGE)
    ids.push(...rows.filter(selects).map(({ id }) => id))
    after = rows.at(-1)?.id ?? null
    if (after === null) return ids
    if (ids.length > MAX_OPERATION_WORKERS) {
      const message = `selects more than ${MAX_OPERATION_WORKERS} workers, the maximum of one operation`
      throw invalid('/id_patterns', message, 'maxItems', { limit: MAX_OPERATION_WORKERS })
    }
  }
}

/** Selects the workers that a request names by patterns and labels, of those that `covers` accepts. */
function selectionOf(
  { id_patterns: patterns, match_labels: labels }: OperationPreviewBody,
  covers: (id: string) => boolean,
): (row: WorkerRow) => boolean {
  const selector = { idPatterns: patterns ?? [], matchLabels: labels ?? {} }
  const labelsOf = (text: string | null): WorkerLabels => JSON.parse(text ?? '{}') as WorkerLabels
  return (row) => covers(row.id) && selectsWorker(selector, { id: row.id, labels: labelsOf(row.labels) })
}

/** The patch of a request, as it is stored. */
export const patchOf = ({ patch }: OperationPreviewBody): JsonObject => (patch ?? {}) as JsonObject
