/** @module master/operations/routes  The routes of operations: preview, create, list, results, cancel and undo. */
import {
  API_PREFIX,
  FleetError,
  LINES_TYPE,
  OperationBody,
  OperationPreview,
  OperationPreviewBody,
  OperationResultsBody,
  OperationResultsQuery,
  OperationsBody,
  OperationShown,
} from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { Catalog } from '../../automation/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { actorOf, covers, mayAccess } from '../auth/index.ts'
import { RawJson, route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import type { OperationCreator } from './create.ts'
import { hasEnded, type Operation, type OperationStore } from './operation-store.ts'
import {
  checkBody,
  coversOperation,
  fieldsOf,
  permissionsFor,
  requireOperationPermission,
  type Requester,
} from './request.ts'
import { RESULT_FORMATS, shownOperation } from './shown.ts'
import { partsIn } from './undo.ts'

const OPERATIONS = `${API_PREFIX}/automations/{type}/operations`
const OPERATION = `${OPERATIONS}/{operation}`
const READS = { 'muster-actor': 'Who requests it: 1 to 128 printable ASCII characters, kept with the operation.' }
const EXAMPLE = {
  kind: 'patch',
  workers: ['worker-1', 'worker-2'],
  patch: { slots: 4 },
  per_second: 10,
  parallel: 20,
  stop_after: 3,
  expected: 2,
} satisfies OperationBody

export interface OperationRouteDeps {
  readonly backend: Backend
  readonly catalog: Catalog
  readonly clock: Clock
  readonly store: OperationStore
  readonly creator: OperationCreator
  /** @throws {FleetError} UPGRADING while a live master does not know operations. */
  readonly requireRelease: () => void
  /** Called after an operation was created. */
  readonly onCreated: () => void
}

export function operationRoutes(deps: OperationRouteDeps): readonly Route[] {
  return [
    allRoute(deps),
    previewRoute(deps),
    createRoute(deps),
    oneRoute(deps),
    resultsRoute(deps),
    cancelRoute(deps),
    undoRoute(deps),
  ]
}

function allRoute({ catalog, store }: OperationRouteDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/operations`,
    access: 'scoped',
    needs: 'read',
    summary: 'The operations of each type that the token covers, newest first.',
    response: OperationsBody,
    handle: async ({ principal }) => {
      const types = [...catalog.keys()].filter((type) => covers(principal, type))
      const all = await store.list(types)
      const operations = all.filter((each) => coversOperation({ principal, permissions: ['read'] }, each))
      return { body: { operations: operations.map((each) => shownOperation(each, catalog)) } }
    },
  })
}

function previewRoute({ creator }: OperationRouteDeps): Route {
  return route({
    method: 'POST',
    path: `${OPERATIONS}/preview`,
    access: 'scoped',
    needs: 'read',
    isDryRun: true,
    refuses: ['RATE_LIMITED'],
    summary: 'What an operation would do, by number of workers. It changes nothing.',
    body: OperationPreviewBody,
    response: OperationPreview,
    example: { kind: 'patch', workers: ['worker-1', 'worker-2'], patch: { slots: 4 } },
    handle: async ({ entry, body, principal }) => {
      checkBody(body, entry)
      const needed = permissionsFor({ kind: body.kind, fields: fieldsOf(body) })
      const mayCreate = needed.some((each) => mayAccess(principal, each, entry.type))
      // The workers that the operation would have; for a token that may create none, those that it may read.
      const permissions = mayCreate ? needed : (['read'] as const)
      return { body: await creator.preview(entry, body, { principal, permissions, showsValues: true }) }
    },
  })
}

function createRoute({ catalog, creator, onCreated, requireRelease }: OperationRouteDeps): Route {
  return route({
    method: 'POST',
    path: OPERATIONS,
    access: 'scoped',
    needs: ['operate', 'configure'],
    audit: 'operation.create',
    summary: 'Creates an operation, which the leading master carries out: a change of up to 10,000 workers.',
    body: OperationBody,
    response: OperationShown,
    refuses: ['UPGRADING', 'OVERLOADED', 'STALE_GENERATION'],
    reads: READS,
    example: EXAMPLE,
    handle: async ({ entry, body, principal, header }) => {
      const permissions = requireOperationPermission(principal, entry, { kind: body.kind, fields: fieldsOf(body) })
      checkBody(body, entry)
      requireRelease()
      const operation = await creator.create(entry, body, actorOf(principal, header('muster-actor')), {
        principal,
        permissions,
      })
      onCreated()
      return created(operation, catalog)
    },
  })
}

function oneRoute({ catalog, store }: OperationRouteDeps): Route {
  return route({
    method: 'GET',
    path: OPERATION,
    access: 'scoped',
    needs: 'read',
    summary: 'One operation.',
    response: OperationShown,
    handle: async (request) => ({ body: shownOperation(await operationOf(request, store), catalog) }),
  })
}

function resultsRoute({ store }: OperationRouteDeps): Route {
  return route({
    method: 'GET',
    path: `${OPERATION}/results`,
    access: 'scoped',
    needs: 'read',
    summary: 'What became of each worker of an operation; a replay has none. ndjson: one result a line.',
    query: OperationResultsQuery,
    response: OperationResultsBody,
    otherMedia: [LINES_TYPE, 'text/csv'],
    handle: async (request) => {
      const { type, id, head } = await operationOf(request, store)
      const format = request.query.format ?? 'json'
      const form = RESULT_FORMATS[format]
      const lines: string[] = []
      for (let n = 0; n < (head.kind === 'replay' ? 0 : partsIn(head.total)); n += 1)
        lines.push(...(await store.part(type, id, n)).items.map(form.line))
      const text = form.head + lines.join(form.separator) + form.tail
      if (format === 'json') return { body: new RawJson(text) }
      const disposition = `attachment; filename="operation-${id}.${format}"`
      return { headers: { 'content-type': form.type, 'content-disposition': disposition }, body: text }
    },
  })
}

function cancelRoute({ catalog, clock, store }: OperationRouteDeps): Route {
  return route({
    method: 'POST',
    path: `${OPERATION}/cancel`,
    access: 'scoped',
    needs: ['operate', 'configure'],
    audit: 'operation.cancel',
    summary: 'Ends an operation: no further worker begins. Workers that were changed stay changed.',
    response: OperationShown,
    reads: READS,
    handle: async (request) => {
      const operation = await changeableOperation(request, store)
      const by = actorOf(request.principal, request.header('muster-actor'))
      const cancelled = await store.update(operation, (head) =>
        hasEnded(head.state)
          ? null
          : { ...head, state: 'cancelled', reason: `cancelled by ${by}`, endedMs: clock.wallMs() },
      )
      const body = shownOperation(cancelled ?? (await operationOf(request, store)), catalog)
      return { body, audit: { count: cancelled === null ? 0 : 1 } }
    },
  })
}

function undoRoute({ catalog, creator, onCreated, requireRelease, store }: OperationRouteDeps): Route {
  return route({
    method: 'POST',
    path: `${OPERATION}/undo`,
    access: 'scoped',
    needs: ['operate', 'configure'],
    audit: 'operation.undo',
    summary:
      'Creates an operation that restores the previous values on the workers that still have the config that the ' +
      'operation wrote.',
    response: OperationShown,
    refuses: ['UPGRADING', 'OVERLOADED'],
    reads: READS,
    handle: async (request) => {
      const operation = await changeableOperation(request, store)
      requireRelease()
      const by = actorOf(request.principal, request.header('muster-actor'))
      const undo = await creator.undo(request.entry, operation, by)
      onCreated()
      return created(undo, catalog)
    },
  })
}

function created(operation: Operation, catalog: Catalog): HandlerResult {
  const { id, head } = operation
  const { pending: count } = head.counts
  return {
    body: shownOperation(operation, catalog),
    audit: { object: id, count, changed: head.fields, note: head.note },
  }
}

type OperationRequest = Pick<RouteRequest, 'params' | 'principal'>

const foundOperation = ({ params }: OperationRequest, store: OperationStore): Promise<Operation> =>
  store.find(params.type, params['operation'] ?? '')

/** @throws {FleetError} FORBIDDEN if it may concern workers that the token may not read. */
async function operationOf(request: OperationRequest, store: OperationStore): Promise<Operation> {
  return covered(await foundOperation(request, store), { principal: request.principal, permissions: ['read'] })
}

/** @throws {FleetError} FORBIDDEN if the token may not make such an operation itself. */
async function changeableOperation(request: OperationRequest, store: OperationStore): Promise<Operation> {
  const { principal } = request
  const operation = await foundOperation(request, store)
  return covered(operation, {
    principal,
    permissions: requireOperationPermission(principal, operation, operation.head),
  })
}

function covered(operation: Operation, requester: Requester): Operation {
  if (coversOperation(requester, operation)) return operation
  throw new FleetError('FORBIDDEN', 'this token does not cover all workers of this operation')
}
