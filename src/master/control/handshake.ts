/**
 * @module master/control/handshake
 * Reads path and token of an upgrade request. The token may be sent in the query (the specification allows it), so the
 * query is removed before other code sees the request.
 */
import type { IncomingMessage } from 'node:http'
import { API_PREFIX, FEATURE_HEADERS, featuresIn, type Feature } from '../../protocol/index.ts'
import { bearerTokenOf, type Authentication } from '../auth/index.ts'
import { countHeader, originForm } from '../http/index.ts'

export interface Handshake {
  readonly type: string
  readonly id: string
  readonly bearerToken: string | undefined
  /** The result for a JWT that was verified for this handshake. */
  readonly verified?: Authentication
  /** What the worker implements. */
  readonly features: ReadonlySet<Feature>
  /** The version of the worker, if it sent one. */
  readonly version?: string | undefined
}

const VERSION = /^\d[\w.+-]{0,63}$/
const CONTROL_PATH = new RegExp(`^${API_PREFIX}/automations/(?<type>[^/]+)/workers/(?<id>[^/]+)/control$`)

/**
 * Reads the path and the token, and removes the query from `request.url`.
 * @returns null if the path is not a control channel path.
 */
export function readHandshake(request: IncomingMessage): Handshake | null {
  const [path, query] = splitOnce(originForm(request.url ?? ''))
  request.url = path
  const { type, id } = CONTROL_PATH.exec(path)?.groups ?? {}
  if (type === undefined || id === undefined) return null
  const { authorization } = request.headers
  const bearerToken =
    authorization === undefined ? (new URLSearchParams(query).get('token') ?? undefined) : bearerTokenOf(authorization)
  const isRepeated = countHeader(request, 'authorization') > 1 // Rejected: two tokens would be two callers.
  try {
    return {
      type: decodeURIComponent(type),
      id: decodeURIComponent(id),
      bearerToken: isRepeated ? undefined : bearerToken,
      features: featuresIn(request.headers[FEATURE_HEADERS.features]),
      version: versionIn(request.headers[FEATURE_HEADERS.version]),
    }
  } catch {
    return null // Invalid percent-encoding: the path does not exist.
  }
}

/** What does not look like a version is left out, since it appears in messages. */
const versionIn = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' && VERSION.test(header) ? header : undefined

function splitOnce(url: string): readonly [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}
