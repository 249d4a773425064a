/**
 * @module master/http/http
 * Wires the pieces of this folder into one listening server.
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
  /** Left out: no trail is written. */
  readonly audit?: Audit
  /** Of the store, as every answer of the API names it. */
  readonly epoch: () => string
  /** Takes every request for an upgrade to a WebSocket, whatever its path. */
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** How long clients may take to send, and how many may connect; left out, as the limits of the wire say. */
  readonly limits?: Partial<ServerLimits>
}

export interface Http {
  /** Answers the port. */
  listen(address: { readonly host: string; readonly port: number }): Promise<number>
  /** Takes no new connections, ends long polls and streams, answers what is in flight, `withinMs` at most. */
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
        socket.destroy() // It was refused already, and Node parses all that a client sent ahead.
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

/** Unique over masters and restarts, short, and cheap to make. */
function requestIds({ random }: Pick<MasterDeps, 'random'>): () => string {
  const prefix = Buffer.from(random.bytes(5)).toString('hex')
  let made = 0
  return () => `${prefix}-${(made += 1).toString(36)}`
}

/** A request whose time is up: refused where nothing was answered yet, cut off where the client does not read. */
function expire(context: RequestContext, responseWriter: ResponseWriter, detail: string): void {
  if (context.response.headersSent) return void context.response.destroy()
  responseWriter.refuse(context, 408, detail, { connection: 'close' })
}
