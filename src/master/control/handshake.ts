/**
 * @module master/control/handshake
 * What happens before a socket is a control socket: path, token, room. The token may stand in the query (the
 * specification allows it), so the query is cut off before anybody else sees the request.
 */
import type { IncomingMessage } from 'node:http'
import { API_PREFIX } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { bearerTokenOf } from '../auth/index.ts'
import { countHeader, originForm } from '../http/request-head.ts'
import { MAX_HANDSHAKES_PER_SECOND, MAX_SOCKETS, MAX_UNREGISTERED } from './limits.ts'

export interface Handshake {
  readonly type: string
  readonly id: string
  readonly bearerToken: string | undefined
}

const CONTROL_PATH = new RegExp(`^${API_PREFIX}/automations/(?<type>[^/]+)/workers/(?<id>[^/]+)/control$`)

/** Reads path and token; null when the path is not the control channel's. Leaves no query behind in `request.url`. */
export function readHandshake(request: IncomingMessage): Handshake | null {
  const [path, query] = splitOnce(originForm(request.url ?? ''))
  request.url = path
  const { type, id } = CONTROL_PATH.exec(path)?.groups ?? {}
  if (type === undefined || id === undefined) return null
  const { authorization } = request.headers
  const bearerToken =
    authorization === undefined ? (new URLSearchParams(query).get('token') ?? undefined) : bearerTokenOf(authorization)
  const isRepeated = countHeader(request, 'authorization') > 1 // Refused everywhere: two tokens are two callers.
  try {
    return {
      type: decodeURIComponent(type),
      id: decodeURIComponent(id),
      bearerToken: isRepeated ? undefined : bearerToken,
    }
  } catch {
    return null // Not a percent-encoding: no such path.
  }
}

function splitOnce(url: string): readonly [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

/** Decides whether there is room for one more socket. */
export class Admission {
  readonly #clock: Clock
  #secondBeganMs = -Infinity
  #handshakes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why the next handshake is refused for now; null when it is let in, which counts it. */
  refusal(sockets: number, unregistered: number): string | null {
    if (sockets >= MAX_SOCKETS) return `this master already serves ${MAX_SOCKETS} workers, its limit`
    if (unregistered >= MAX_UNREGISTERED) return 'too many workers are registering; try again'
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#secondBeganMs >= 1_000) {
      this.#secondBeganMs = nowMs
      this.#handshakes = 0
    }
    if (this.#handshakes >= MAX_HANDSHAKES_PER_SECOND)
      return 'too many workers are connecting simultaneously; try again'
    this.#handshakes += 1
    return null
  }
}
