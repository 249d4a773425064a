/**
 * @module runtime/http-pool
 * Sends HTTP requests over a pool of connections. An interface, so that a simulation can replace the network.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Pool } from 'undici'

export interface HttpPoolRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** The path with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Aborts the request, and a response that is still being read. */
  readonly signal: AbortSignal
}

export interface HttpPoolResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  /** To be read or dumped: an unread body occupies its connection. */
  readonly body: AsyncIterable<Buffer> & {
    text(): Promise<string>
    dump(): Promise<void>
  }
}

export interface HttpPool {
  /**
   * Sends one request and resolves with the head of its response.
   * @throws the reason of the signal, or an error whose `code` is one of Node or undici: `ECONNREFUSED` before the
   *   request was sent, `UND_ERR_SOCKET` after the connection broke.
   */
  request(request: HttpPoolRequest): Promise<HttpPoolResponse>
  /** Aborts all requests and closes the connections. */
  destroy(): Promise<void>
}

export interface HttpPoolOptions {
  /** Maximum number of connections; null: unlimited. Further requests wait for a free one. */
  readonly connections: number | null
  readonly keepAliveMaxTimeoutMs?: number
  readonly maxResponseBytes?: number
  /** Timeout of establishing a connection. */
  readonly connectMs?: number
  /** PEM text of the CA certificates that verify the server, in place of those of the system. */
  readonly ca?: string
}

export type CreateHttpPool = (origin: string, options: HttpPoolOptions) => HttpPool

/** Creates a pool of undici. Connections have one request at a time; the callers limit the time of each request. */
export const createHttpPool: CreateHttpPool = (
  origin,
  { connections, keepAliveMaxTimeoutMs, maxResponseBytes, connectMs, ca },
) =>
  new Pool(origin, {
    connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(keepAliveMaxTimeoutMs !== undefined && { keepAliveMaxTimeout: keepAliveMaxTimeoutMs }),
    ...(maxResponseBytes !== undefined && { maxResponseSize: maxResponseBytes }),
    connect: { ...(connectMs !== undefined && { timeout: connectMs }), ...(ca !== undefined && { ca }) },
  })
