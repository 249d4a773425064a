/**
 * @module master/http/openapi
 * Generates the OpenAPI 3.1 document from the route table, and from nothing else (D32). It needs no token and is the
 * same for every installation: paths contain `{type}`, and no automation is named.
 */
import { Type, type TSchema } from 'typebox'
import {
  API_PREFIX,
  AutomationType,
  Name,
  OBJECTS,
  RevisionName,
  ItemName,
  WorkerId,
  type JsonSchema,
} from '../../protocol/index.ts'
import type { Part } from '../deps.ts'
import { components, responsesOf } from './openapi-responses.ts'
import { NOT_AFTER } from './not-after.ts'
import { named, namedSchemas } from './openapi-schemas.ts'
import { deliveryOf, route, type Access, type Route } from './route.ts'

/** Creates the route of the document. The document contains its own path. */
export function createOpenApi(routes: readonly Route[], version: string): Part {
  const document = (): Buffer => (made ??= Buffer.from(JSON.stringify(openApiOf([...routes, row], version))))
  let made: Buffer | undefined
  const row = route({
    method: 'GET',
    path: `${API_PREFIX}/openapi.json`,
    access: 'none',
    needs: null,
    summary: 'This API as an OpenAPI 3.1 document.',
    response: Type.Object({ openapi: Type.String() }),
    handle: () => ({ headers: { 'content-type': 'application/json; charset=utf-8' }, body: document() }),
  })
  return { routes: [row] }
}

/**
 * Renders the document of a route table.
 * @throws {TypeError} if a row declares no response.
 */
function openApiOf(routes: readonly Route[], version: string): object {
  const names = namedSchemas(OBJECTS)
  const paths: Record<string, Record<string, object>> = {}
  for (const each of routes) paths[each.path] = { ...paths[each.path], [each.method.toLowerCase()]: operation(each) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version,
      description: 'The API of a Muster master, which coordinates a fleet of long-running workers.',
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    paths: named(paths, names),
    components: named({ ...components(), schemas: OBJECTS }, names),
  }
}

const NOT_AFTER_DESCRIPTION =
  'Unix seconds by the clock of the master, after which it refuses the request with 412 and changes nothing.'

const IF_NONE_MATCH_DESCRIPTION =
  'ETag of an earlier response to the same request. If nothing has changed since, the response is 304 without a body.'

const WHO: Readonly<Record<Access, string>> = {
  none: 'Needs no token.',
  any: 'Any valid token.',
  admin: 'The admin token.',
  worker: 'A worker token.',
  scoped: 'The admin token, or a scoped token that covers the type.',
}

function operation(row: Route): object {
  const { access, summary, path, method } = row
  return {
    operationId: operationId(method, path),
    summary,
    description: WHO[access],
    security: access === 'none' ? [] : [{ bearer: [] }],
    parameters: [
      ...pathParameters(path),
      ...queryParameters(row.query),
      ...headerParameters(row.reads),
      ...headerParameters(deliveryOf(row) === 'plain' ? {} : { 'if-none-match': IF_NONE_MATCH_DESCRIPTION }),
      ...headerParameters(method === 'GET' ? {} : { [NOT_AFTER]: NOT_AFTER_DESCRIPTION }),
    ],
    ...requestBody(row),
    responses: responsesOf(row),
  }
}

function requestBody({ body, bodyInFull = body, bodyMayBeAbsent = false, example }: Route): object {
  if (bodyInFull === undefined) return {}
  return {
    requestBody: {
      required: !bodyMayBeAbsent,
      content: { 'application/json': { schema: bodyInFull, ...(example === undefined ? {} : { example }) } },
    },
  }
}

const operationId = (method: string, path: string): string =>
  `${method.toLowerCase()}_${
    path
      .replace(API_PREFIX, '')
      .replaceAll(/[^\w]+/g, '_')
      .replaceAll(/^_+|_+$/g, '') || 'root'
  }`

/** The schema of each path parameter, as serve.ts checks it. */
const PATH_SCHEMAS: Readonly<Record<string, object>> = {
  type: AutomationType,
  id: { ...WorkerId, not: { enum: ['.', '..'] } },
  revision: RevisionName,
  enrolment: RevisionName,
  rollout: RevisionName,
  item: ItemName,
}

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(?<name>\w+)\}/g)].map(({ groups: { name = '' } = {} }) => ({
    name,
    in: 'path',
    required: true,
    schema: PATH_SCHEMAS[name] ?? Name,
  }))

function queryParameters(query: TSchema | undefined): object[] {
  const { properties = {}, required = [] } = (query ?? {}) as {
    properties?: Record<string, JsonSchema>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const headerParameters = (reads: Route['reads'] = {}): object[] =>
  Object.entries(reads).map(([name, description]) => ({ name, in: 'header', description, schema: { type: 'string' } }))
