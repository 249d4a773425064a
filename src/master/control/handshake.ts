/**
 * @module master/control/handshake
 * Reads path and token of an upgrade request. The token may be sent in the query (the specification allows it), so the
 * query is removed before other code sees the request.
 */
import type { IncomingMessage } from 'node:http'
import { API_PREFIX, FEATURE_HEADERS, featuresIn, type Feature } from '../../protocol/index.ts'
import { bearerTokenOf } from '../auth/index.ts'
import { countHeader, originForm } from '../http/index.ts'

export interface Handshake {
  readonly type: string
  readonly id: string
  readonly bearerToken: string | undefined
  /** What the worker implements. */
  readonly features: ReadonlySet<Feature>
}

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
    }
  } catch {
    return null // Invalid percent-encoding: the path does not exist.
  }
}

function splitOnce(url: string): readonly [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}
