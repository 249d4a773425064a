/**
 * @module master/http/openapi-responses
 * Describes the responses of a row: its 200, the others that the row declares, and the refusals that follow from its
 * properties. The checks of serve.ts use the same properties:
 *
 *   every row             400, 408, 414, 417, 431, 505 (before any handler), 503
 *   a token is required   401, 403
 *   a name in the path    404, and 422 if the name is not `type`
 *   a query               422
 *   a body                413, 415, 422
 *
 * A method that a path does not support gets 405. No operation can describe that, so it is only listed in `components`.
 */
import { API_PREFIX, ERRORS, InvalidBody, ErrorBody } from '../../protocol/index.ts'
import { deliveryOf, type Route } from './route.ts'

interface ErrorResponse {
  readonly name: string
  readonly description: string
  readonly headers?: Readonly<Record<string, string>>
}

const header = (name: string): object => ({ $ref: `#/components/headers/${name}` })

/** For clients that poll: those that send If-None-Match, or accept compression. */
const NOT_MODIFIED = { description: 'The client has this response already: If-None-Match names its ETag.' }

const ERROR_RESPONSES: Readonly<Record<number, ErrorResponse>> = {
  400: {
    name: 'BadRequest',
    description: 'Malformed HTTP or JSON, or a request that this automation does not support.',
  },
  401: {
    name: 'Unauthenticated',
    description: 'The Authorization header is missing or malformed.',
    headers: { 'WWW-Authenticate': 'WwwAuthenticate' },
  },
  403: { name: 'Forbidden', description: 'The token is unknown or does not have the permission.' },
  404: { name: 'NotFound', description: 'The object of the path does not exist.' },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path does not support this method; see Allow.',
    headers: { Allow: 'Allow' },
  },
  408: { name: 'TimedOut', description: 'The request took too long to arrive or to serve.' },
  409: { name: 'Claimed', description: 'Another manager has claimed the config; force=true replaces the claim.' },
  412: {
    name: 'StaleGeneration',
    description: 'If-Match names a generation that is not the current one, or the time in muster-not-after has passed.',
  },
  413: { name: 'TooLarge', description: 'The body is larger than the master accepts.' },
  414: { name: 'UrlTooLong', description: 'The URL is too long.' },
  415: { name: 'UnsupportedMediaType', description: 'The body is not JSON in UTF-8, or is compressed.' },
  417: { name: 'ExpectationFailed', description: 'The request expects something other than 100-continue.' },
  422: { name: 'Invalid', description: 'A field, a parameter or a name is invalid; the response lists every fault.' },
  429: { name: 'RateLimited', description: 'This token submits too fast.', headers: { 'Retry-After': 'RetryAfter' } },
  431: { name: 'HeadersTooLarge', description: 'There are too many headers, or they are too large.' },
  503: {
    name: 'Unavailable',
    description: 'The store or the master is temporarily unavailable or overloaded; retry later.',
    headers: { 'Retry-After': 'RetryAfter' },
  },
  505: { name: 'VersionNotSupported', description: 'The request is not HTTP/1.1 or HTTP/1.0.' },
}

const EPOCH = 'The epoch of the store. A different value means that the store lost its state.'

/** The components of the document other than the schemas. */
export function components(): object {
  const text = (description: string): object => ({
    description,
    required: true,
    schema: { type: 'string', minLength: 1 },
  })
  return {
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    headers: {
      RequestId: text('Identifies this request, also in the log of the master.'),
      Epoch: text(EPOCH),
      EpochOfApi: {
        ...text(`${EPOCH} Only where the path is under ${API_PREFIX}, the request was read and the store is open.`),
        required: false,
      },
      ETag: text('The version of the config, for If-Match and If-None-Match.'),
      ConfigDigest: text('Identifies the content of the config. A worker sends it back with its next poll.'),
      RetryAfter: {
        ...text('Seconds after which the same call may succeed.'),
        schema: { type: 'integer', minimum: 1 },
      },
      Allow: text('The methods that the path supports.'),
      WwwAuthenticate: text('How to authenticate.'),
    },
    responses: Object.fromEntries(
      Object.entries(ERROR_RESPONSES).map(([status, refusal]) => [refusal.name, response(refusal, Number(status))]),
    ),
  }
}

function response({ description, headers = {} }: ErrorResponse, status: number): object {
  return {
    description,
    content: { 'application/json': { schema: status === ERRORS.INVALID.status ? InvalidBody : ErrorBody } },
    headers: {
      'Muster-Request-Id': header('RequestId'),
      'Muster-Epoch': header('EpochOfApi'),
      ...Object.fromEntries(Object.entries(headers).map(([name, component]) => [name, header(component)])),
    },
  }
}

/** @throws TypeError for a row that states neither `response` nor `media`. */
export function responsesOf(row: Route): object {
  const { method, path, response: schema, media, otherMedia = [], others = {}, sends = {} } = row
  if (schema === undefined && media === undefined)
    throw new TypeError(
      `${method} ${path} has no response schema: give the row a \`response\`, ` +
        'or a `media` if the response is not JSON',
    )
  const inApi = path.startsWith(`${API_PREFIX}/`)
  const headers = {
    'Muster-Request-Id': header('RequestId'),
    ...(inApi ? { 'Muster-Epoch': header('Epoch') } : {}),
    ...Object.fromEntries(Object.entries(sends).map(([name, component]) => [name, header(component)])),
  }
  const own = Object.entries(others).map(([status, other]) => [
    status,
    {
      description: other.description,
      headers,
      ...(other.schema === undefined && other.media === undefined ? {} : { content: content(other) }),
    },
  ])
  const contents = {
    ...content({ schema, media }),
    ...Object.assign({}, ...otherMedia.map((each) => content({ media: each }))),
  }
  return {
    200: { description: 'Done.', headers, content: contents },
    ...(deliveryOf(row) !== 'plain' && { 304: { ...NOT_MODIFIED, headers } }),
    ...Object.fromEntries(
      errorStatusesOf(row).map((status) => [status, { $ref: `#/components/responses/${errorResponseName(status)}` }]),
    ),
    ...Object.fromEntries(own),
  }
}

function errorResponseName(status: number): string {
  const refusal = ERROR_RESPONSES[status]
  if (refusal === undefined) throw new TypeError(`no refusal has the status ${status}: add it to REFUSALS`)
  return refusal.name
}

function errorStatusesOf({ access, method, path, query, body, refuses = [] }: Route): number[] {
  const names = [...path.matchAll(/\{(?<name>\w+)\}/g)].map(({ groups }) => groups?.['name'])
  const checked = query !== undefined || body !== undefined || names.some((name) => name !== 'type')
  return [
    400,
    408,
    414,
    417,
    431,
    503,
    505,
    ...(access === 'none' ? [] : [401, 403]),
    ...(names.length === 0 ? [] : [404]),
    ...(checked ? [422] : []),
    ...(body === undefined ? [] : [413, 415]),
    ...(method === 'GET' ? [] : [ERRORS.STALE_GENERATION.status]),
    ...refuses.map((code) => ERRORS[code].status),
  ]
}

function content({
  schema,
  media = 'application/json',
}: {
  readonly schema?: object | undefined
  readonly media?: string | undefined
}): object {
  return { [media]: { schema: schema ?? { type: 'string' } } }
}
