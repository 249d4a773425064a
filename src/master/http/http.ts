/**
 * @module master/http/http
 * Wires the pieces of this folder into one listening server.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter } from 'prom-client'
import type { MasterDeps } from '../deps.ts'
import type { Authenticator } from '../auth/index.ts'
import { Answerer } from './answer.ts'
import { createApp } from './app.ts'
import { Exchange } from './exchange.ts'
import type { Route } from './route.ts'
import { createHttpServer, listen, type TimeLimits } from './server.ts'
import { Traffic } from './traffic.ts'

export interface HttpOptions {
  readonly deps: Omit<MasterDeps, 'backend' | 'masterId' | 'epoch'>
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  /** Of the store, as every answer of the API names it. */
  readonly epoch: () => string
  /** Takes every request for an upgrade to a WebSocket, whatever its path. */
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** How long clients may take to send; left out, as the limits of the wire say. */
  readonly limits?: TimeLimits
}

export interface Http {
  /** Answers the port. */
  listen(address: { readonly host: string; readonly port: number }): Promise<number>
  /** Takes no new connections, ends long polls and streams, answers what is in flight, `withinMs` at most. */
  close(withinMs: number): Promise<void>
}

export function createHttp({ deps, routes, authenticator, epoch, onUpgrade, limits }: HttpOptions): Http {
  const { clock, timers, log, catalog, settings } = deps
  const requestId = requestIds(deps)
  const refusals = new Counter({
    name: 'svc_http_refusals_total',
    help: 'Requests that were answered with an error.',
    labelNames: ['status'],
    registers: [deps.metrics],
  })
  const onRefusal = (status: number): void => refusals.inc({ status: String(status) })
  const answerer = new Answerer({ epoch, log, stopping: () => traffic.stopping, onRefusal })
  const traffic = new Traffic({ clock, timers, authenticator, expire: (exchange) => expire(exchange, answerer) })
  const busy = new WeakMap<Duplex, Exchange>()
  const exchange = (request: IncomingMessage, response: ServerResponse): Exchange => {
    const made = new Exchange(requestId(), request, response, clock.monotonicMs())
    busy.set(request.socket, made)
    return made
  }
  const app = createApp({
    routes,
    authenticator,
    answerer,
    traffic,
    catalog,
    log,
    exchange,
    maxBodyBytes: settings.maxBodyBytes,
  })
  const sockets = new Set<Duplex>()
  const server = createHttpServer({
    app,
    requestId,
    onUpgrade,
    onRefusal,
    limits,
    answering: (socket) =>
      busy.get(socket)?.response.headersSent === true && busy.get(socket)?.response.writableFinished === false,
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    listen: (address) => {
      traffic.start()
      return listen(server, address)
    },
    close: async (withinMs) => {
      const closed = new Promise((resolve) => server.close(resolve))
      await traffic.drain(withinMs)
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
function expire(exchange: Exchange, answerer: Answerer): void {
  if (exchange.response.headersSent) return void exchange.response.destroy()
  answerer.refuse(exchange, 408, 'the request took too long', { connection: 'close' })
}
