/**
 * @module master/http/request-head
 * Finds faults in the head of a request that concern HTTP and no route. They are rejected before the token is checked.
 * Like every refusal, the response has `detail` and `Muster-Request-Id` (D73).
 */
import type { IncomingMessage } from 'node:http'

export interface HeadFault {
  readonly status: 400 | 417 | 505
  readonly detail: string
}

/** Scheme and host of a target in absolute form, which every server must accept (RFC 9112 section 3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?]*/i
const CONTINUE = /^100-continue$/i

/** The target of a request without scheme and host: `/healthz` for `http://example.com/healthz`. */
export function originForm(target: string): string {
  return target.replace(ABSOLUTE, '')
}

/** How often a header was sent. Node keeps the first one of some headers and joins others. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i]
    if (each?.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count
}

/** Whether the request offers a WebSocket upgrade. HTTP/1.0 has no upgrades (RFC 9110 section 7.8). */
export function isWebSocketUpgrade(request: IncomingMessage): boolean {
  return isVersion11(request) && request.headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Whether the client waits for `100 Continue` before it sends the body.
 * HTTP/1.0 does not have this response (RFC 9110 section 10.1.1).
 */
export function expectsContinue(request: IncomingMessage): boolean {
  return isVersion11(request) && request.headers.expect !== undefined
}

/** The fault in the head of a request; null if there is none. */
export function headFault(request: IncomingMessage): HeadFault | null {
  if (request.httpVersionMajor !== 1)
    return { status: 505, detail: `HTTP/${request.httpVersion} is not supported; use HTTP/1.1` }
  const hosts = countHeader(request, 'host')
  if (hosts > 1 || (hosts === 0 && isVersion11(request))) return { status: 400, detail: 'send exactly one Host header' }
  if (expectsContinue(request) && !CONTINUE.test(request.headers.expect ?? ''))
    return { status: 417, detail: 'this expectation is not supported; use 100-continue' }
  return null
}

/**
 * The fault of a request that reached the routes; null if there is none.
 * An upgrade that gets here was sent before the response to an earlier request.
 */
export function requestFault(request: IncomingMessage): HeadFault | null {
  if (isWebSocketUpgrade(request))
    return {
      status: 400,
      detail: 'read the responses to earlier requests on this connection before sending an upgrade',
    }
  return headFault(request)
}

const isVersion11 = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor >= 1
