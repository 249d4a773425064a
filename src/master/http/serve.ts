/**
 * @module master/http/serve
 * Compiles one row of the route table: the check of the role, the parsing of the request and the call of the handler.
 * The checks have the order described in route.ts. Token, path and method were checked before (app.ts).
 */
import type { CatalogEntry, Catalog } from '../../automation/index.ts'
import {
  changedIntegers,
  compileValidator,
  FleetError,
  invalid,
  isWorkerId,
  MAX_NAME_CHARS,
  NAME_PATTERN,
  withSourceNumbers,
  type Validator,
} from '../../protocol/index.ts'
import { withLogFields } from '../../runtime/index.ts'
import { requirePermission, type Principal } from '../auth/index.ts'
import { readJson, type JsonBody } from './body.ts'
import type { RequestContext } from './request-context.ts'
import { checkDocument } from './json-document.ts'
import { queryReader, type QueryReader } from './query.ts'
import { deliveryOf, type Delivery, type HandlerResult, type Route, type RouteRequest } from './route.ts'

/** For a document with more values only the first fault is reported, because a complete list would be too expensive. */
const MAX_VALUES_FOR_ALL_FAULTS = 10_000
const NAME = new RegExp(NAME_PATTERN)

export interface RowDeps {
  readonly catalog: Catalog
  readonly maxBodyBytes: number
}
export type Body = Pick<RouteRequest, 'body' | 'exactBody'>
export type Params = Readonly<Record<string, string>>

export interface Row {
  readonly route: Route
  readonly delivery: Delivery
  /** Checks role and type. @throws {FleetError} FORBIDDEN, NOT_FOUND or INVALID. */
  admit(principal: Principal | null, params: Params): CatalogEntry | undefined
  /** Reads and checks the body; null if the row has no body. */
  readonly readBody: ((context: RequestContext) => Promise<Body>) | null
  /** Calls the handler. @param body The result of `readBody`; undefined if the row has no body. */
  handle(
    context: RequestContext,
    params: Params,
    entry: CatalogEntry | undefined,
    body: Body | undefined,
  ): Promise<HandlerResult>
}

export function compileRow(route: Route, { catalog, maxBodyBytes }: RowDeps): Row {
  const readQuery = route.query === undefined ? () => ({}) : queryReader(route.query)
  const names = [...route.path.matchAll(/\{(?<name>\w+)\}/g)].map((match) => match.groups?.['name'] ?? '')
  return {
    route,
    delivery: deliveryOf(route),
    admit: (principal, params) => {
      checkRole(route, principal, params)
      for (const name of names) checkName(name, params[name] ?? '')
      return names.includes('type') ? entryOf(catalog, params['type'] ?? '') : undefined
    },
    readBody: route.body === undefined ? null : bodyReader(route, route.body, maxBodyBytes),
    handle: async (context, params, entry, body) =>
      call(route, context, { params, entry, body: body?.body, exactBody: body?.exactBody, query: readQuery }),
  }
}

interface ReadRequest {
  readonly params: Params
  readonly entry: CatalogEntry | undefined
  readonly body: unknown
  readonly exactBody: unknown
  readonly query: QueryReader
}

function call(route: Route, context: RequestContext, read: ReadRequest): Promise<HandlerResult> | HandlerResult {
  // Rows without a token have no principal and rows without a type no entry, as route.ts documents.
  const request = new ServedRequest(context, read) as unknown as RouteRequest
  return withLogFields({ request_id: context.id }, () => route.handle(request))
}

/** A class, so that all requests share one getter: a getter per object would give each its own hidden class. */
class ServedRequest {
  readonly params: RouteRequest['params']
  readonly query: unknown
  readonly body: unknown
  readonly exactBody: unknown
  readonly principal: Principal | null
  readonly entry: CatalogEntry | undefined
  readonly header: (name: string) => string | undefined
  readonly #context: RequestContext

  constructor(context: RequestContext, { params, query, body, exactBody, entry }: ReadRequest) {
    this.params = { type: '', id: '', ...params }
    this.query = query(context.search)
    this.body = body
    this.exactBody = exactBody
    this.principal = context.principal
    this.entry = entry
    this.header = (name) => headerOf(context, name)
    this.#context = context
  }

  get signal(): AbortSignal {
    return this.#context.signal
  }
}

function headerOf({ request }: RequestContext, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** @throws {FleetError} FORBIDDEN. */
function checkRole({ access, needs }: Route, principal: Principal | null, { type, id }: Params): void {
  if (access === 'none') return
  if (principal === null) throw new FleetError('FORBIDDEN', 'this token does not have access to this path')
  if (needs !== null) requirePermission(principal, needs, type, id)
}

function entryOf(catalog: Catalog, type: string): CatalogEntry {
  const entry = catalog.get(type)
  if (entry === undefined) throw new FleetError('NOT_FOUND', 'no automation of this type is installed')
  return entry
}

/** Checks a name of the path. The type is looked up later; every other name must be a possible one (D56, D59). */
function checkName(name: string, value: string): void {
  if (name === 'type') return
  if (name === 'id' ? isWorkerId(value) : NAME.test(value) && [...value].length <= MAX_NAME_CHARS) return
  throw invalid(
    `/${name}`,
    `must be 1 to ${MAX_NAME_CHARS} characters without control characters${name === 'id' ? ' and "/"' : ''}`,
    'name',
  )
}

function bodyReader(route: Route, schema: object, maxBodyBytes: number): (context: RequestContext) => Promise<Body> {
  const { bodyMayBeAbsent = false } = route
  const validate = compileValidator(schema)
  const maxBytes = Math.min(maxBodyBytes, route.maxBodyBytes ?? Infinity)
  return async (context) => checkedBody(route, validate, await readJson(context, maxBytes, bodyMayBeAbsent))
}

/**
 * Checks a body against its route.
 *
 * @returns the body as handlers receive it.
 * @throws {FleetError} BAD_REQUEST if it is not an object, INVALID with the faults.
 */
export function checkedBody(route: Route, validate: Validator, { text, document }: JsonBody): Body {
  const { bodyMayBeArray = false, keepsNumbers = false } = route
  if (typeof document !== 'object' || document === null || (Array.isArray(document) && !bodyMayBeArray))
    throw new FleetError('BAD_REQUEST', 'the body is not a JSON object')
  checkBody(document, validate)
  const exactBody = withSourceNumbers(text, document)
  if (exactBody !== document && !keepsNumbers) checkIntegers(exactBody)
  return { body: document, exactBody }
}

function checkBody(document: unknown, validate: Validator): void {
  const values = checkDocument(document)
  const faults = validate(document)
  if (faults.length > 0)
    throw new FleetError('INVALID', values > MAX_VALUES_FOR_ALL_FAULTS ? faults.slice(0, 1) : faults)
}

/** @throws {FleetError} INVALID if an integer would be stored as a different one (D75). */
function checkIntegers(exactBody: unknown): void {
  const faults = changedIntegers(exactBody)
  if (faults.length > 0) throw new FleetError('INVALID', faults)
}
