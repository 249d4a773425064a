/**
 * @module master/http/serve
 * One row of the route table, compiled: who may call, what the request must hold, and the call of its handler. The
 * order of the checks is the one route.ts promises; token, path and method were checked before (app.ts).
 */
import type { CatalogEntry, Catalog } from '../../automation/index.ts'
import {
  compileValidator,
  FleetError,
  invalid,
  isWorkerId,
  MAX_NAME_CHARS,
  NAME_PATTERN,
  type Validator,
} from '../../protocol/index.ts'
import { withLogFields } from '../../runtime/index.ts'
import { covers } from '../auth/index.ts'
import { announcesBody, readJson } from './body.ts'
import type { Exchange } from './exchange.ts'
import { checkDocument } from './json-document.ts'
import { queryReader, type QueryReader } from './query.ts'
import type { Answer, Principal, Route, RouteRequest } from './route.ts'

/** A document above this reports its first fault alone: a list of all would cost more than it helps. */
const MAX_VALUES_FOR_ALL_FAULTS = 10_000
const NAME = new RegExp(NAME_PATTERN)

export interface RowOptions {
  readonly catalog: Catalog
  readonly maxBodyBytes: number
}
export type Params = Readonly<Record<string, string>>

export interface Row {
  readonly route: Route
  /** Checks role and type. @throws {FleetError} FORBIDDEN, NOT_FOUND, INVALID. */
  admit(principal: Principal | null, params: Params): CatalogEntry | undefined
  /** Reads the request and calls the handler. */
  handle(exchange: Exchange, params: Params, entry: CatalogEntry | undefined): Promise<Answer>
}

export function compileRow(route: Route, { catalog, maxBodyBytes }: RowOptions): Row {
  const readQuery = route.query === undefined ? () => ({}) : queryReader(route.query)
  const readBody =
    route.body === undefined ? () => Promise.resolve(undefined) : bodyReader(route, route.body, maxBodyBytes)
  const names = [...route.path.matchAll(/\{(?<name>\w+)\}/g)].map((match) => match.groups?.['name'] ?? '')
  return {
    route,
    admit: (principal, params) => {
      checkRole(route, principal, params['type'])
      for (const name of names) checkName(name, params[name] ?? '')
      return names.includes('type') ? entryOf(catalog, params['type'] ?? '') : undefined
    },
    handle: async (exchange, params, entry) => {
      const body = await readBody(exchange)
      return call(route, exchange, { params, entry, body, query: readQuery })
    },
  }
}

interface Parts {
  readonly params: Params
  readonly entry: CatalogEntry | undefined
  readonly body: unknown
  readonly query: QueryReader
}

function call(route: Route, exchange: Exchange, parts: Parts): Promise<Answer> | Answer {
  const request = new ServedRequest(exchange, parts) as unknown as RouteRequest // Rows without a token have no principal, rows without a type no entry: route.ts says so.
  return withLogFields({ request_id: exchange.id }, () => route.handle(request))
}

/** A class, so that all requests share the accessor: one of its own would give each a hidden class that outlives it. */
class ServedRequest {
  readonly params: RouteRequest['params']
  readonly query: unknown
  readonly body: unknown
  readonly principal: Principal | null
  readonly entry: CatalogEntry | undefined
  readonly header: (name: string) => string | undefined
  readonly #exchange: Exchange

  constructor(exchange: Exchange, { params, query, body, entry }: Parts) {
    this.params = { type: '', id: '', ...params }
    this.query = query(exchange.search)
    this.body = body
    this.principal = exchange.principal
    this.entry = entry
    this.header = (name) => headerOf(exchange, name)
    this.#exchange = exchange
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }
}

function headerOf({ request }: Exchange, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function checkRole({ access }: Route, principal: Principal | null, type: string | undefined): void {
  if (access === 'none') return
  const allowed =
    principal !== null &&
    (access === 'any' || (access === 'scoped' ? maySee(principal, type) : principal.role === access))
  if (!allowed) throw new FleetError('FORBIDDEN', 'this token may not do this')
}

/** @param type undefined: the path has none. */
const maySee = (principal: Principal, type: string | undefined): boolean =>
  type === undefined ? principal.role !== 'worker' : covers(principal, type)

function entryOf(catalog: Catalog, type: string): CatalogEntry {
  const entry = catalog.get(type)
  if (entry === undefined) throw new FleetError('NOT_FOUND', 'no automation of this type is installed')
  return entry
}

/** The type is compared whole with those there are; every other name must be one that something could bear (D56, D59). */
function checkName(name: string, value: string): void {
  if (name === 'type') return
  if (name === 'id' ? isWorkerId(value) : NAME.test(value) && [...value].length <= MAX_NAME_CHARS) return
  throw invalid(
    `/${name}`,
    `must be 1 to ${MAX_NAME_CHARS} characters without control characters${name === 'id' ? ' and "/"' : ''}`,
    'name',
  )
}

function bodyReader(
  { bodyMayBeAbsent = false, bodyMayBeArray = false }: Route,
  schema: object,
  maxBodyBytes: number,
): (exchange: Exchange) => Promise<unknown> {
  const validate = compileValidator(schema)
  return async ({ request, response }) => {
    if (bodyMayBeAbsent && !announcesBody(request)) return {}
    const document = await readJson(request, response, maxBodyBytes)
    if (typeof document !== 'object' || document === null || (Array.isArray(document) && !bodyMayBeArray))
      throw new FleetError('BAD_REQUEST', 'the body is not a JSON object')
    checkBody(document, validate)
    return document
  }
}

function checkBody(document: unknown, validate: Validator): void {
  const values = checkDocument(document)
  const faults = validate(document)
  if (faults.length > 0)
    throw new FleetError('INVALID', values > MAX_VALUES_FOR_ALL_FAULTS ? faults.slice(0, 1) : faults)
}
