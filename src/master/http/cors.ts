/**
 * @module master/http/cors
 * Lets pages of the origins of `SVC_CORS_ORIGINS` call the API from a browser (D122). Other origins get no header, so
 * their browser blocks the call. An origin matches only if it is listed exactly.
 */
import type { IncomingMessage } from 'node:http'

type Headers = Readonly<Record<string, string>>

/** What `muster/client` sends, beside the headers that every page may send. */
const REQUEST_HEADERS = 'Authorization, Content-Type, Last-Event-ID, Muster-Actor, Traceparent, Tracestate'
/** What `muster/client` reads, beside the headers that every page may read. */
const RESPONSE_HEADERS = 'Muster-Epoch, Muster-Request-Id, Retry-After'
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
const PREFLIGHT_SECONDS = 600

/** The headers by which a browser decides whether a page may read a response. */
export class CorsPolicy {
  readonly #origins: ReadonlySet<string>

  /** @param origins Scheme, host and port of each allowed page, as a browser writes them; none disables CORS. */
  constructor(origins: readonly string[] = []) {
    this.#origins = new Set(origins)
  }

  /**
   * Adds what a browser needs to the head of a response. Without the setting, it changes nothing.
   * @param request The request of the response.
   * @param head The headers of the response, by lower-case name.
   */
  addHeaders(request: IncomingMessage, head: Record<string, string | number>): void {
    if (this.#origins.size === 0) return
    // Caches must not use the response to one origin for another, nor one without Origin for any.
    head['vary'] = head['vary'] === undefined ? 'Origin' : `${head['vary']}, Origin`
    const origin = this.#allowedOrigin(request)
    if (origin === undefined) return
    head['access-control-allow-origin'] = origin
    head['access-control-expose-headers'] = RESPONSE_HEADERS
  }

  /**
   * Returns the headers of the response to a preflight. A browser sends one without a token before a request that a
   * form could not send.
   * @returns null if the request is no preflight of an allowed origin.
   */
  preflight(request: IncomingMessage): Headers | null {
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return null
    if (this.#allowedOrigin(request) === undefined) return null
    return {
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': `${PREFLIGHT_SECONDS}`,
    }
  }

  #allowedOrigin({ headers: { origin } }: IncomingMessage): string | undefined {
    return origin !== undefined && this.#origins.has(origin) ? origin : undefined
  }
}
