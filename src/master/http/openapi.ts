/**
 * @module master/http/openapi
 * The route table as an OpenAPI 3.1 document (D32). It is open to everybody and the same for every installation: it
 * speaks of `{type}` and names no automation.
 */
import type { TSchema } from 'typebox'
import { API_PREFIX, ErrorBody, type JsonSchema } from '../../protocol/index.ts'
import type { Part } from '../deps.ts'
import { route, type Access, type Route } from './route.ts'

/** The path of the document is part of it. */
export function createOpenApi(routes: readonly Route[], version: string): Part {
  const text = (): string => (made ??= JSON.stringify(openApiOf([...routes, row], version)))
  let made: string | undefined
  const row = route({
    method: 'GET', path: `${API_PREFIX}/openapi.json`, access: 'none', summary: 'This API as an OpenAPI 3.1 document.',
    handle: () => ({ headers: { 'content-type': 'application/json; charset=utf-8' }, body: text() }),
  })
  return { routes: [row] }
}

/** The document of a route table. */
function openApiOf(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const each of routes) paths[each.path] = { ...paths[each.path], [each.method.toLowerCase()]: operation(each) }
  return {
    openapi: '3.1.0',
    info: { title: 'Muster', version, description: 'Coordinates a fleet of worker processes.' },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ErrorBody },
      responses: { Error: { description: 'Why the request was refused.', content: json({ $ref: '#/components/schemas/Error' }) } },
    },
  }
}

const WHO: Readonly<Record<Access, string>> = {
  none: 'Needs no token.', any: 'Any valid token.', admin: 'The admin token.', worker: 'A worker token.', scoped: 'The admin token, or a scoped token that covers the type.',
}

function operation({ access, summary, query, body, bodyMayBeAbsent = false, response, path, method }: Route): object {
  return {
    operationId: operationId(method, path), summary, description: WHO[access], security: access === 'none' ? [] : [{ bearer: [] }],
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body === undefined ? {} : { requestBody: { required: !bodyMayBeAbsent, content: json(body) } }),
    responses: {
      200: { description: 'Done.', ...(response === undefined ? {} : { content: json(response) }) },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

const json = (schema: TSchema | JsonSchema): object => ({ 'application/json': { schema } })

const operationId = (method: string, path: string): string =>
  `${method.toLowerCase()}_${path.replace(API_PREFIX, '').replaceAll(/[^\w]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'root'}`

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(?<name>\w+)\}/g)].map(({ groups }) => ({ name: groups?.['name'], in: 'path', required: true, schema: { type: 'string', minLength: 1 } }))

function queryParameters(query: TSchema | undefined): object[] {
  const { properties = {}, required = [] } = (query ?? {}) as { properties?: Record<string, JsonSchema>; required?: readonly string[] }
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema }))
}
