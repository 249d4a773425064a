/**
 * @module master/http/server
 * Runs the HTTP server with its limits. A message that never becomes a request (broken framing, headers that are too
 * large or too slow) gets a response in raw bytes, and its connection ends.
 *
 * What handles the requests can be replaced while the server listens, so a master that was starting begins to serve
 * without closing its address: connections that wait to be accepted would be reset.
 *
 * Of the upgrades that a request may offer, only `websocket` is accepted. Any other (`h2c`, which some HTTP clients
 * offer with every request) is ignored, and the request is served as it is (RFC 9110 section 7.8).
 */
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions as NodeServerOptions,
} from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { MAX_HEADER_BYTES, MAX_HEADERS } from '../../protocol/index.ts'
import { headFault, isWebSocketUpgrade } from './request-head.ts'
import type { SocketRequests } from './socket-requests.ts'
import type { TlsOptions, TlsPair } from './tls.ts'

/** Longer than the idle timeout of proxies in front of the master, so that the proxy closes the connection. */
const KEEP_ALIVE_MS = 75_000
/**
 * `lookEveryMs` is how often Node checks for slow requests. With its default of 30 s they could be four times too slow.
 */
const LIMITS = { headersWithinMs: 10_000, requestWithinMs: 30_000, lookEveryMs: 1_000, connections: 120_000 }
export type ServerLimits = Readonly<typeof LIMITS>
export type ServedTls = Pick<TlsOptions, 'pair' | 'minVersion'>
export interface Address {
  readonly host: string
  readonly port: number
}
/**
 * Connections that the kernel keeps until the event loop accepts them; Linux lowers this to `net.core.somaxconn`. With
 * Node's default of 511, thousands of workers that reconnect lose their first packet and try again a second later.
 */
const ACCEPT_BACKLOG = 4_096
const HANDSHAKE_WITHIN_MS = 10_000

/** Handles what arrives at a server. */
export interface HttpHandlers {
  readonly app: RequestListener
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly requestId: () => string
  /** The requests of each connection without a complete response. */
  readonly requests: SocketRequests
  /** Called with the status of each refusal. */
  readonly onRefusal: (status: number) => void
  /** Called for each connection above the limit, which is closed without a response. */
  readonly onDrop: () => void
}

/** Supported by Node 22.21 and 24.9 or later. Earlier versions treat every offer as an upgrade. */
interface UpgradeChoice {
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean
}

export class HttpServer {
  readonly #server: Server
  /** All open connections, also those that were upgraded. */
  readonly #sockets = new Set<Socket>()
  readonly #tls: ServedTls | null
  #handlers: HttpHandlers

  /**
   * @param lower Lower limits for tests.
   * @param tls Null: plain HTTP.
   */
  constructor(handlers: HttpHandlers, lower: Partial<ServerLimits> = {}, tls: ServedTls | null = null) {
    const limits = { ...LIMITS, ...lower }
    this.#handlers = handlers
    const options: NodeServerOptions & UpgradeChoice = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: limits.headersWithinMs,
      requestTimeout: limits.requestWithinMs,
      connectionsCheckingInterval: limits.lookEveryMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      requireHostHeader: false, // The application rejects a missing Host header, with a detail.
      // After a request without a response it is an ordinary request, which the application rejects in turn (D73).
      shouldUpgradeCallback: (request) =>
        isWebSocketUpgrade(request) && this.#handlers.requests.count(request.socket) === 0,
    }
    const app: RequestListener = (request, response) => this.#handlers.app(request, response)
    this.#server = tls === null ? createServer(options, app) : createTlsServer({ ...options, ...secure(tls) }, app)
    this.#tls = tls
    // Node drops further headers silently; one more shows that there were too many.
    this.#server.maxHeadersCount = MAX_HEADERS + 1
    this.#server.maxConnections = limits.connections
    this.#server.on('connection', (socket) => this.#track(socket))
    this.#server.on('drop', () => this.#handlers.onDrop())
    this.#server.on('checkContinue', app) // The body reader sends 100 Continue after the sender was accepted.
    this.#server.on('checkExpectation', app) // The application rejects it, with a detail.
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#server.on('connect', (_request, socket) =>
      this.#reject(socket, 405, 'this server is not a proxy; CONNECT is not supported'),
    )
    this.#server.on('clientError', (error, socket) => this.#onClientError(error, socket))
  }

  /** Replaces what handles the requests from now on. */
  use(handlers: HttpHandlers): void {
    this.#handlers = handlers
  }

  /** Uses another certificate for new connections. Those that are open stay. */
  replaceCertificate(pair: TlsPair): void {
    if (this.#server instanceof TlsServer && this.#tls !== null)
      this.#server.setSecureContext(secure({ ...this.#tls, pair }))
  }

  /** Starts listening. @returns the port. @throws {Error} if the address cannot be used. */
  listen({ host, port }: Address): Promise<number> {
    const server = this.#server
    return new Promise((resolve, reject) => {
      const refused = (cause: Error): void =>
        reject(
          new Error(`the master cannot listen on ${host}:${port}; choose another address with --listen`, { cause }),
        )
      server.once('error', refused).listen({ port, host, backlog: ACCEPT_BACKLOG }, () => {
        server.off('error', refused)
        resolve((server.address() as AddressInfo).port)
      })
    })
  }

  /** Accepts no further connections. Resolves when all are closed. */
  async close(): Promise<void> {
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  /** Closes all connections abruptly. */
  destroyConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const fault = headFault(request)
    if (this.#handlers.requests.count(socket) > 0)
      socket.destroy() // Only reached if Node is too old for `shouldUpgradeCallback`.
    else if (fault === null) this.#handlers.onUpgrade(request, socket, head)
    else this.#reject(socket, fault.status, fault.detail)
  }

  #onClientError(error: ClientError, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable || this.#handlers.requests.isResponding(socket))
      return void socket.destroy()
    const [status, detail] = meaning(error)
    this.#reject(socket, status, detail)
  }

  #reject(socket: Duplex, status: number, detail: string): void {
    this.#handlers.onRefusal(status)
    rejectRaw(socket, status, detail, this.#handlers.requestId())
  }
}

/** The options of a server with TLS. Renegotiation is off with TLS 1.3, and limited by Node with 1.2. */
function secure({ pair: { cert, key }, minVersion }: ServedTls) {
  return { cert, key, minVersion, ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_WITHIN_MS }
}

/** Writes a refusal to a socket that has no response object, and closes it. */
export function rejectRaw(
  socket: Duplex,
  status: number,
  detail: string,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify({ detail })
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `muster-request-id: ${requestId}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.on('error', () => {}) // The client may have disconnected already.
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

interface ClientError extends Error {
  readonly code?: string
  readonly rawPacket?: Buffer
}

function meaning({ code, rawPacket }: ClientError): [number, string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the request took too long to arrive']
  if (code !== 'HPE_HEADER_OVERFLOW') return [400, 'the request is not well-formed HTTP']
  const inFirstLine = rawPacket !== undefined && /^[A-Z]+ [^\n]*$/.test(rawPacket.toString('latin1'))
  return inFirstLine ? [414, 'the URL is too long'] : [431, `the headers are larger than ${MAX_HEADER_BYTES} bytes`]
}
