/**
 * @module master/http/http
 * Creates the HTTP server from the parts of this folder.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter } from 'prom-client'
import { MAX_DRY_RUNS_PER_SECOND, MAX_REQUESTS_PER_SOCKET } from '../../protocol/index.ts'
import type { MasterDeps } from '../deps.ts'
import { NO_AUDIT, type Audit } from '../audit/index.ts'
import type { Authenticator } from '../auth/index.ts'
import { ResponseWriter } from './response-writer.ts'
import { createApp } from './app.ts'
import { RequestContext } from './request-context.ts'
import { RateLimiter } from './rate-limit.ts'
import type { Route } from './route.ts'
import { createHttpServer, listen, type ServerLimits } from './server.ts'
import { SocketRequests } from './socket-requests.ts'
import { InFlightRequests } from './in-flight-requests.ts'

export interface HttpOptions {
  readonly deps: Omit<MasterDeps, 'backend' | 'masterId' | 'epoch' | 'inspections'>
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
}

export interface Http {
  /** Starts listening. @returns the port. */
  listen(address: { readonly host: string; readonly port: number }): Promise<number>
  /** Accepts no new connections, ends long polls and streams, and finishes requests in progress within `withinMs`. */
  close(withinMs: number): Promise<void>
}

export function createHttp({
  deps,
  routes,
  authenticator,
  audit = NO_AUDIT,
  epoch,
  onUpgrade,
  limits,
}: HttpOptions): Http {
  const { clock, timers, log, catalog, settings } = deps
  const requestId = requestIds(deps)
  const refusals = new Counter({
    name: 'svc_http_refusals_total',
    help: 'Requests that ended with an error status.',
    labelNames: ['status'],
    registers: [deps.metrics],
  })
  const onRefusal = (status: number): void => refusals.inc({ status: String(status) })
  const responseWriter = new ResponseWriter({ epoch, log, stopping: () => inFlight.stopping, onRefusal })
  const shed = new Counter({
    name: 'svc_http_shed_total',
    help: 'Requests rejected by an admission limit, by limit.',
    labelNames: ['reason'],
    registers: [deps.metrics],
  })
  const inFlight = new InFlightRequests({
    clock,
    timers,
    authenticator,
    expire: (context, detail) => expire(context, responseWriter, detail),
    onShed: (reason) => shed.inc({ reason }),
  })
  const requests = new SocketRequests()
  const context = (request: IncomingMessage, response: ServerResponse): RequestContext =>
    new RequestContext(requestId(), request, response, clock.monotonicMs())
  const app = createApp({
    routes,
    authenticator,
    responseWriter,
    inFlight,
    requests,
    dryRuns: new RateLimiter(clock, MAX_DRY_RUNS_PER_SECOND),
    catalog,
    log,
    audit,
    context,
    maxBodyBytes: settings.maxBodyBytes,
  })
  const sockets = new Set<Duplex>()
  const server = createHttpServer({
    requestId,
    onUpgrade,
    onRefusal,
    limits,
    requests,
    onDrop: () => shed.inc({ reason: 'connections' }),
    app: (request, response) => {
      const { socket } = request
      if (requests.count(socket) > MAX_REQUESTS_PER_SOCKET)
        socket.destroy() // Already rejected. Node parses everything that a client sends ahead.
      else if (!socket.destroyed) app(request, response)
    },
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    listen: (address) => {
      inFlight.start()
      return listen(server, address)
    },
    close: async (withinMs) => {
      const closed = new Promise((resolve) => server.close(resolve))
      await inFlight.drain(withinMs)
      for (const socket of sockets) socket.destroy()
      await closed
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
