/**
 * @module master/http/startup
 * Serves the address of the API while the store is being opened. `/healthz` returns 200, so that a liveness probe does
 * not restart a master whose store takes minutes to check. `/readyz` returns 503 and the current step. Every other
 * request gets 503 with `Retry-After` (D97), and upgrades may be held (D101). When the master serves, it takes over the
 * server with all its connections.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ReadyBody } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { HttpServer, rejectRaw, type Address, type HttpHandlers, type ServedTls } from './server.ts'
import { SocketRequests } from './socket-requests.ts'

const RETRY_AFTER = { 'retry-after': '2' }

export interface StartupListenerDeps {
  readonly address: Address
  /** Null: plain HTTP. */
  readonly tls: ServedTls | null
  readonly clock: Clock
  readonly requestId: () => string
  /** Holds an upgrade or calls `refuse`; without a detail it gets the one of every request. */
  readonly onUpgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    refuse: (status: 400 | 503, detail?: string) => void,
  ) => void
}

export class StartupListener {
  readonly server: HttpServer
  readonly #deps: StartupListenerDeps
  readonly #startedMs: number
  #step = ''

  constructor(deps: StartupListenerDeps) {
    const { requestId, clock, onUpgrade } = deps
    this.#deps = deps
    this.#startedMs = clock.monotonicMs()
    const handlers: HttpHandlers = {
      requestId,
      requests: new SocketRequests(),
      onRefusal: () => undefined,
      onDrop: () => undefined,
      app: (request, response) => this.#respond(request, response),
      onUpgrade: (request, socket, head) =>
        onUpgrade(request, socket, head, (status, detail = this.#detail()) =>
          rejectRaw(socket, status, detail, requestId(), status === 503 ? RETRY_AFTER : {}),
        ),
    }
    this.server = new HttpServer(handlers, {}, deps.tls)
  }

  /** @returns the port. @throws {Error} if the address cannot be used. */
  listen(): Promise<number> {
    return this.server.listen(this.#deps.address)
  }

  /** Sets the step that `/readyz` and the refusals name. */
  report(step: string): void {
    this.#step = step
  }

  /** Resolves when the address is free. To be called only if no master took over the server. */
  async close(): Promise<void> {
    const closed = this.server.close()
    this.server.destroyConnections()
    await closed
  }

  #detail(): string {
    const seconds = Math.floor((this.#deps.clock.monotonicMs() - this.#startedMs) / 1_000)
    return `the master starts: ${this.#step}, ${seconds} s so far`
  }

  #respond({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = url.split('?')
    const body = this.#body(path)
    response
      .writeHead(path === '/healthz' ? 200 : 503, {
        'content-type': 'application/json; charset=utf-8',
        'muster-request-id': this.#deps.requestId(),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        connection: 'close',
        ...(path !== '/healthz' && RETRY_AFTER),
      })
      .end(JSON.stringify(body))
  }

  #body(path: string): ReadyBody | { readonly status: string } | { readonly detail: string } {
    if (path === '/healthz') return { status: 'ok' }
    if (path !== '/readyz') return { detail: this.#detail() }
    return { status: 'not ready', parts: { backend: false, catalog: true, serving: false }, warnings: [this.#detail()] }
  }
}
