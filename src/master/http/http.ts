/**
 * @module master/http/http
 * Connects the parts of this folder to the HTTP server of the master.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter } from 'prom-client'
import { MAX_DRY_RUNS_PER_SECOND, MAX_REQUESTS_PER_SOCKET } from '../../protocol/index.ts'
import type { MasterDeps } from '../deps.ts'
import { NO_AUDIT, type Audit } from '../audit/index.ts'
import type { Authenticator } from '../auth/index.ts'
import { ResponseWriter } from './response-writer.ts'
import { createApp } from './app.ts'
import { CorsPolicy } from './cors.ts'
import { RequestContext } from './request-context.ts'
import { RateLimiter } from './rate-limit.ts'
import type { Route } from './route.ts'
import { HttpServer, type Address, type HttpHandlers, type ServedTls, type ServerLimits } from './server.ts'
import type { TlsPair } from './tls.ts'
import { SocketRequests } from './socket-requests.ts'
import { InFlightRequests } from './in-flight-requests.ts'

export interface HttpDeps extends Omit<MasterDeps, 'backend' | 'masterId' | 'epoch' | 'inspections'> {
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  /** If left out, no audit trail is written. */
  readonly audit?: Audit
  /** The epoch of the store, which every response of the API names. */
  readonly epoch: () => string
  /** Handles every request for a WebSocket upgrade, on any path. */
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Time limits and connection limits. By default those of server.ts. */
  readonly limits?: Partial<ServerLimits>
  /** If left out, plain HTTP. */
  readonly tls?: ServedTls
}

/** The HTTP server of the master. */
export class Http {
  /** Handles one request, of any server or of a simulated network. */
  readonly handle: RequestListener
  readonly #inFlight: InFlightRequests
  readonly #handlers: HttpHandlers
  #server: HttpServer

  constructor(deps: HttpDeps) {
    const { clock, metrics, timers } = deps
    const refusals = new Counter({
      name: 'svc_http_refusals_total',
      help: 'Requests that ended with an error status.',
      labelNames: ['status'],
      registers: [metrics],
    })
    const shed = new Counter({
      name: 'svc_http_shed_total',
      help: 'Requests rejected by an admission limit, by limit.',
      labelNames: ['reason'],
      registers: [metrics],
    })
    const shared: Shared = {
      requestId: requestIds(deps),
      requests: new SocketRequests(),
      onRefusal: (status) => refusals.inc({ status: String(status) }),
      onShed: (reason) => shed.inc({ reason }),
      cors: new CorsPolicy(deps.settings.corsOrigins),
    }
    const responseWriter = new ResponseWriter({
      epoch: deps.epoch,
      log: deps.log,
      cors: shared.cors,
      stopping: () => this.#inFlight.stopping,
      onRefusal: shared.onRefusal,
    })
    this.#inFlight = new InFlightRequests({
      clock,
      timers,
      authenticator: deps.authenticator,
      expire: (context, detail) => expire(context, responseWriter, detail),
      onShed: shared.onShed,
    })
    this.handle = createRequestListener(deps, shared, responseWriter, this.#inFlight)
    this.#handlers = createHandlers(deps, shared, this.handle)
    this.#server = new HttpServer(this.#handlers, deps.limits, deps.tls ?? null)
  }

  /**
   * Starts the limits of requests.
   *
   * @param address Null: listens nowhere; requests are passed to `handle`.
   * @returns the port, or 0.
   */
  async listen(address: Address | null): Promise<number> {
    this.#inFlight.start()
    return address === null ? 0 : this.#server.listen(address)
  }

  /** Uses another certificate for new connections. */
  replaceCertificate(pair: TlsPair): void {
    this.#server.replaceCertificate(pair)
  }

  /** Serves a server that listens already, instead of one of its own. */
  takeOver(server: HttpServer): void {
    this.#inFlight.start()
    this.#server = server
    server.use(this.#handlers)
  }

  /** Accepts no new connections, ends long polls and streams, and finishes requests in progress within `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const closed = this.#server.close()
    await this.#inFlight.drain(withinMs)
    this.#server.destroyConnections()
    await closed
  }
}

/** What the server and the application share. */
interface Shared {
  readonly requestId: () => string
  readonly requests: SocketRequests
  readonly onRefusal: (status: number) => void
  readonly onShed: (reason: string) => void
  readonly cors: CorsPolicy
}

function createRequestListener(
  { authenticator, audit = NO_AUDIT, catalog, clock, log, routes, settings }: HttpDeps,
  { requestId, requests, cors }: Shared,
  responseWriter: ResponseWriter,
  inFlight: InFlightRequests,
): RequestListener {
  return createApp({
    routes,
    authenticator,
    responseWriter,
    inFlight,
    requests,
    cors,
    dryRuns: new RateLimiter(clock, MAX_DRY_RUNS_PER_SECOND),
    clock,
    catalog,
    log,
    audit,
    context: (request, response) => new RequestContext(requestId(), request, response, clock.monotonicMs()),
    maxBodyBytes: settings.maxBodyBytes,
  })
}

function createHandlers(
  { onUpgrade }: HttpDeps,
  { requestId, requests, onRefusal, onShed }: Shared,
  app: RequestListener,
): HttpHandlers {
  return {
    requestId,
    onUpgrade,
    onRefusal,
    requests,
    onDrop: () => onShed('connections'),
    app: (request, response) => {
      const { socket } = request
      if (requests.count(socket) > MAX_REQUESTS_PER_SOCKET)
        socket.destroy() // Already rejected. Node parses everything that a client sends ahead.
      else if (!socket.destroyed) app(request, response)
    },
  }
}

/** Creates request ids: unique among all masters and restarts, short and cheap. */
function requestIds({ random }: Pick<MasterDeps, 'random'>): () => string {
  const prefix = Buffer.from(random.bytes(5)).toString('hex')
  let made = 0
  return () => `${prefix}-${(made += 1).toString(36)}`
}

/** Ends a request that reached its deadline: responds with 408, or terminates if a response has already begun. */
function expire(context: RequestContext, responseWriter: ResponseWriter, detail: string): void {
  if (context.response.headersSent) return void context.response.destroy()
  responseWriter.refuse(context, 408, detail, { connection: 'close' })
}
