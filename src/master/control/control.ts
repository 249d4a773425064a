/**
 * @module master/control/control
 * The control channel: every worker's WebSocket, from the upgrade to its end.
 *
 *   upgrade ── path, room ──▶ handshake ── token, type ──▶ new ── register ──▶ registered ──▶ closed
 *      │ 404, 503                  │ 4401, 1008                                    │
 *                                                        frames ─▶ inbound ─▶ beats (states, statistics), sink (outputs)
 *                                                        outbound ◀─ signals, answers of the store
 *
 * An invalid token is accepted and then closed with 4401, so that every client can read the code (D12). Handlers are
 * shared by all sockets; nothing is made per connection but its {@link Connection}.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter, Gauge } from 'prom-client'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { CLOSE, isWorkerId, MAX_FRAGMENTS, MAX_FRAME_BYTES } from '../../protocol/index.ts'
import { Complaints } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { Principal } from '../http/route.ts'
import { refuseRaw } from '../http/server.ts'
import type { Registry, SocketSignal } from '../registry/index.ts'
import type { OutputSink } from '../streams/sink.ts'
import { Beats } from './beats.ts'
import { closeReason, Connection } from './connection.ts'
import { Admission, readHandshake, type Handshake } from './handshake.ts'
import { Heartbeat } from './heartbeat.ts'
import { Inbound } from './inbound.ts'
import { CLOSE_GRACE_MS } from './limits.ts'
import { Outbound } from './outbound.ts'
import { Pressure } from './pressure.ts'
import { Told } from './told.ts'

export interface ControlParts {
  readonly registry: Registry
  readonly sink: OutputSink
  /** Whose token this is. */
  readonly identify: (bearerToken: string) => Principal | 'wrong'
}

export interface Control extends Part {
  /** Takes an upgrade request of the HTTP server, whatever its path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket and lets none in; resolves when all are gone. */
  closeAll(code: number, reason: string): Promise<void>
  /** Closes the sockets whose token is valid no more (D22); to be called when tokens changed. */
  closeRevoked(): void
}

/** As labels: ours, and what a WebSocket says by itself; a peer may send any number. */
const KNOWN_CODES: ReadonlySet<number> = new Set([1000, 1002, 1003, 1005, 1006, ...Object.values(CLOSE)])
const BAD_TOKEN = 'the worker token is missing or not valid'

export function createControl(deps: MasterDeps, parts: ControlParts): Control {
  return new ControlChannel(deps, parts)
}

class ControlChannel implements Control {
  readonly routes = []
  readonly #deps: MasterDeps
  readonly #parts: ControlParts
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: MAX_FRAGMENTS,
  })
  readonly #admission: Admission
  readonly #connections = new Map<WebSocket, Connection>()
  readonly #unregistered = new Set<Connection>()
  readonly #byConn = new Map<string, Connection>()
  /** Sockets that were let in only to be told why not. */
  readonly #rejected = new Set<WebSocket>()
  readonly #outbound: Outbound
  readonly #pressure: Pressure
  readonly #told: Told
  readonly #beats: Beats
  readonly #inbound: Inbound
  readonly #heartbeat: Heartbeat
  readonly #refused: Counter<'reason'>
  readonly #closed: Counter<'code'>
  #stops: (() => void)[] = []
  #closing = false
  #onEmpty: (() => void)[] = []

  constructor(deps: MasterDeps, parts: ControlParts) {
    const { registry, sink } = parts
    const complaints = new Complaints(deps.clock)
    this.#deps = deps
    this.#parts = parts
    this.#admission = new Admission(deps.clock)
    this.#outbound = new Outbound(deps.clock)
    this.#pressure = new Pressure(sink)
    this.#told = new Told({ clock: deps.clock, timers: deps.timers, announce: registry.announce })
    this.#beats = new Beats({
      master: deps,
      announce: registry.announce,
      told: this.#told,
      outbound: this.#outbound,
      pressure: this.#pressure,
      complaints,
    })
    this.#inbound = new Inbound({
      master: deps,
      registry,
      sink,
      complaints,
      beats: this.#beats,
      outbound: this.#outbound,
      pressure: this.#pressure,
      byConn: this.#byConn,
      onRegistered: (connection) => void this.#unregistered.delete(connection),
    })
    this.#heartbeat = new Heartbeat({
      clock: deps.clock,
      timers: deps.timers,
      outbound: this.#outbound,
      connections: () => this.#connections.values(),
      unregistered: this.#unregistered,
    })
    this.#refused = new Counter({
      name: 'svc_control_refused_total',
      help: 'Control handshakes refused.',
      labelNames: ['reason'],
      registers: [deps.metrics],
    })
    this.#closed = new Counter({
      name: 'svc_control_closed_total',
      help: 'Control sockets that ended, by close code.',
      labelNames: ['code'],
      registers: [deps.metrics],
    })
    this.#gauge()
  }

  start(): void {
    this.#stops = [
      this.#parts.registry.onSignal((signal) => this.#signalled(signal)),
      this.#parts.sink.onRelief(() => this.#pressure.relieved()),
    ]
    this.#heartbeat.start()
  }

  async stop(): Promise<void> {
    await this.closeAll(CLOSE.GOING_AWAY, 'the master stops')
    this.#heartbeat.stop()
    for (const stop of this.#stops) stop()
    await this.#beats.stop()
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const handshake = readHandshake(request)
    if (handshake === null) return this.#refuse(socket, 404, 'path', 'there is nothing to upgrade to at this path')
    const refusal = this.#closing
      ? 'the master stops'
      : this.#admission.refusal(
          this.#connections.size + this.#rejected.size,
          this.#unregistered.size + this.#rejected.size,
        )
    if (refusal !== null) return this.#refuse(socket, 503, 'room', refusal)
    this.#server.handleUpgrade(request, socket, head, (accepted) => this.#accept(accepted, handshake))
  }

  async closeAll(code: number, reason: string): Promise<void> {
    this.#closing = true
    for (const connection of this.#connections.values()) connection.close(code, reason)
    if (this.#connections.size + this.#rejected.size > 0) await this.#emptied()
  }

  closeRevoked(): void {
    const verdicts = new Map<string, boolean>()
    for (const connection of this.#connections.values()) {
      const { bearerToken } = connection
      const valid = verdicts.get(bearerToken) ?? this.#isWorkerToken(bearerToken)
      verdicts.set(bearerToken, valid)
      if (!valid) connection.close(CLOSE.INVALID_TOKEN, BAD_TOKEN)
    }
  }

  #refuse(socket: Duplex, status: 404 | 503, reason: string, detail: string): void {
    this.#refused.inc({ reason })
    refuseRaw(socket, status, detail, this.#deps.random.uuid(), status === 503 ? { 'retry-after': '1' } : {})
  }

  #isWorkerToken(bearerToken: string): boolean {
    const principal = this.#parts.identify(bearerToken)
    return principal !== 'wrong' && principal.role === 'worker'
  }

  #accept(socket: WebSocket, { type, id, bearerToken }: Handshake): void {
    socket.on('error', ignored)
    const entry = this.#deps.catalog.get(type)
    if (bearerToken === undefined || !this.#isWorkerToken(bearerToken))
      return this.#reject(socket, CLOSE.INVALID_TOKEN, BAD_TOKEN)
    if (entry === undefined)
      return this.#reject(socket, CLOSE.POLICY, 'the automation type of the path is not installed')
    if (!isWorkerId(id)) return this.#reject(socket, CLOSE.POLICY, 'the worker id of the path is not valid')
    const connection = new Connection(socket, entry, id, bearerToken, this.#deps.clock.monotonicMs())
    this.#connections.set(socket, connection)
    this.#unregistered.add(connection)
    socket.on('message', this.#onMessage)
    socket.on('pong', this.#onPong)
    socket.on('close', this.#onClose)
  }

  #reject(socket: WebSocket, code: number, reason: string): void {
    this.#refused.inc({ reason: code === CLOSE.INVALID_TOKEN ? 'token' : 'path' })
    this.#rejected.add(socket)
    socket.on('close', this.#onRejectedClose)
    socket.close(code, closeReason(reason))
  }

  // Shared by all sockets: ws calls them with the socket as `this`.
  readonly #onMessage = onSocket((socket, data: RawData, isBinary: boolean) => {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    if (isBinary) this.#inbound.refuse(connection, CLOSE.INVALID_FRAME, 'frames are JSON text, this one is binary')
    else this.#inbound.receive(connection, (data as Buffer).toString())
  })

  readonly #onPong = onSocket((socket) => {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.misses = 0
  })

  readonly #onClose = onSocket((socket, code: number) => {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    connection.gone = true
    connection.phase = 'closing'
    this.#closed.inc({ code: KNOWN_CODES.has(code) ? code : 'other' })
    this.#connections.delete(socket)
    this.#unregistered.delete(connection)
    this.#byConn.delete(connection.conn)
    this.#outbound.forget(connection)
    this.#pressure.forget(connection)
    if (connection.stored) this.#beats.left(connection)
    this.#checkEmpty()
  })

  readonly #onRejectedClose = onSocket((socket) => {
    this.#rejected.delete(socket)
    this.#checkEmpty()
  })

  #signalled(signal: SocketSignal): void {
    const connection = this.#byConn.get(signal.conn)
    if (connection === undefined) return
    switch (signal.kind) {
      case 'config_changed':
        return this.#outbound.configChanged(connection, signal.gen)
      case 'drain':
        this.#told.knows(connection, 'DRAINING') // Told by whoever asked for the drain.
        return this.#outbound.drain(connection)
      case 'replaced':
        connection.disowned = true
        this.#told.forget(connection)
        return connection.close(CLOSE.POLICY, 'replaced by a newer connection')
    }
  }

  /** Resolves when no socket is left; cuts off those that do not answer a close. */
  async #emptied(): Promise<void> {
    const empty = new Promise<void>((resolve) => void this.#onEmpty.push(resolve))
    const cancel = this.#deps.timers.after(CLOSE_GRACE_MS, () => {
      for (const socket of [...this.#connections.keys(), ...this.#rejected]) socket.terminate()
    })
    await empty
    cancel()
  }

  #checkEmpty(): void {
    if (this.#connections.size + this.#rejected.size > 0) return
    for (const resolve of this.#onEmpty.splice(0)) resolve()
  }

  #gauge(): void {
    const sockets = (): number => this.#connections.size
    const gauge: Gauge = new Gauge({
      name: 'svc_control_sockets',
      help: 'Control sockets that are open.',
      registers: [this.#deps.metrics],
      collect: () => gauge.set(sockets()),
    })
  }
}

/** What a socket reports as an error is followed by its close, which says enough. */
function ignored(): void {}

function onSocket<Args extends readonly unknown[]>(handle: (socket: WebSocket, ...args: Args) => void) {
  return function (this: WebSocket, ...args: Args): void {
    handle(this, ...args)
  }
}
