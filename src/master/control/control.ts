/**
 * @module master/control/control
 * Serves the control channel: the WebSocket of every worker, from the upgrade request to its close.
 *
 *   upgrade ──▶ Admission ──▶ new ── register ──▶ registered ──▶ closed
 *
 *   frames  ─▶ Inbound ─▶ HeartbeatWriter (states, statistics), TallyCollector (counters), OutputSink (outputs)
 *   signals, results of the store ─▶ Outbound ─▶ frames
 *
 * All sockets share the event handlers; only a {@link Connection} is created per socket.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter, Gauge } from 'prom-client'
import type { RawData } from 'ws'
import { CLOSE } from '../../protocol/index.ts'
import { LogThrottle, type FrameSocket } from '../../runtime/index.ts'
import type { ConnectionEnd } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { MasterMembership } from '../master-membership.ts'
import type { Registry, SocketSignal } from '../registry/index.ts'
import type { OutputSink } from '../streams/index.ts'
import { mayAccess, type Principal } from '../auth/index.ts'
import { Admission, BAD_TOKEN, type AdmissionDeps, type Upgrade } from './admission.ts'
import { HeartbeatWriter } from './heartbeat-writer.ts'
import { closeReason, Connection } from './connection.ts'
import type { AcceptedSocket } from './control-socket.ts'
import type { Handshake } from './handshake.ts'
import { Heartbeat } from './heartbeat.ts'
import { Inbound } from './inbound.ts'
import { CLOSE_GRACE_MS } from './limits.ts'
import { LogReads, type LogReadResult } from './log-reads.ts'
import { Outbound } from './outbound.ts'
import { Backpressure } from './backpressure.ts'
import type { PendingUpgrade } from './startup-upgrades.ts'
import { StateEventThrottle } from './state-event-throttle.ts'
import { TallyCollector } from './tally-collector.ts'

export interface ControlDeps
  extends
    MasterDeps,
    Pick<AdmissionDeps, 'identify' | 'check' | 'isStillValid' | 'audit' | 'processLoad' | 'releases'> {
  readonly registry: Registry
  readonly sink: OutputSink
  readonly masters: Pick<MasterMembership, 'onBeat'>
}

export interface Control extends Part {
  /** Handles an upgrade request of the HTTP server, for any path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Handles an upgrade that waited while the master started. */
  resume(upgrade: PendingUpgrade): void
  /**
   * Handles a handshake, also one of a simulated network.
   * @returns null if it is decided. Otherwise it waits, and the returned function is to be called if its client
   *   disconnects meanwhile.
   */
  accept(handshake: Handshake, upgrade: Upgrade): (() => void) | null
  /** Closes every socket and accepts no new ones. Resolves when all are closed. */
  closeAll(code: number, reason: string): Promise<void>
  /** Reads the log of a worker with a socket of this master. */
  readonly readLogs: LogReads['read']
  /** Closes the sockets whose token is no longer valid (D22). To be called after tokens changed. */
  closeRevoked(): void
}

/** Close codes that are used as labels; others count as `other`, because a peer may send any number. */
const KNOWN_CODES: ReadonlySet<number> = new Set([1000, 1002, 1003, 1005, 1006, ...Object.values(CLOSE)])
/** What `ws` reports if no close frame was received. */
const CLOSE_ABNORMAL = 1006
/** The first heartbeat after a loss may have begun before it. */
const BEATS_AFTER_LOSS = 2

const isWorkerOf = (principal: Principal | undefined, type: string, id: string): boolean =>
  principal !== undefined && mayAccess(principal, 'work', type, id)

export function createControl(deps: ControlDeps): Control {
  return new ControlChannel(deps)
}

class ControlChannel implements Control {
  readonly routes = []
  readonly #deps: ControlDeps
  readonly #admission: Admission
  readonly #connections = new Map<FrameSocket, Connection>()
  readonly #unregistered = new Set<Connection>()
  readonly #byConn = new Map<string, Connection>()
  readonly #outbound: Outbound
  readonly #backpressure: Backpressure
  readonly #stateEvents: StateEventThrottle
  readonly #tallies: TallyCollector
  readonly #heartbeats: HeartbeatWriter
  readonly #logReads: LogReads
  readonly #inbound: Inbound
  readonly #heartbeat: Heartbeat
  readonly #closed: Counter<'code'>
  #stops: (() => void)[] = []
  /** The heartbeats after which a loss of the event log is handled; 0: there was none. */
  #beatsUntilLoss = 0
  #onEmpty: (() => void)[] = []

  constructor(deps: ControlDeps) {
    const { registry, sink } = deps
    const logThrottle = new LogThrottle(deps.clock)
    this.#deps = deps
    this.#admission = new Admission({
      ...deps,
      sockets: () => this.#connections.size,
      unregistered: () => this.#unregistered.size,
      onAdmitted: (socket, handshake) => this.#serve(socket, handshake),
      onRefusedClosed: () => this.#checkEmpty(),
    })
    this.#outbound = new Outbound(deps.clock)
    this.#backpressure = new Backpressure(sink)
    this.#stateEvents = new StateEventThrottle({ clock: deps.clock, timers: deps.timers, announce: registry.announce })
    this.#tallies = new TallyCollector({ master: deps, logThrottle })
    this.#heartbeats = new HeartbeatWriter({
      master: deps,
      announce: registry.announce,
      stateEvents: this.#stateEvents,
      outbound: this.#outbound,
      backpressure: this.#backpressure,
      tallies: this.#tallies,
      logThrottle,
    })
    this.#logReads = new LogReads({ master: deps, byConn: this.#byConn, outbound: this.#outbound })
    this.#inbound = new Inbound({
      master: deps,
      registry,
      sink,
      logThrottle,
      heartbeats: this.#heartbeats,
      logReads: this.#logReads,
      outbound: this.#outbound,
      backpressure: this.#backpressure,
      tallies: this.#tallies,
      byConn: this.#byConn,
      onRegistered: (connection) => {
        this.#unregistered.delete(connection)
        this.#stateEvents.registered(connection)
      },
    })
    this.#heartbeat = new Heartbeat({
      clock: deps.clock,
      timers: deps.timers,
      outbound: this.#outbound,
      connections: () => this.#connections.values(),
      unregistered: this.#unregistered,
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
      this.#deps.registry.onSignal((signal) => this.#onSignal(signal)),
      this.#deps.sink.onRelief(() => this.#backpressure.onDrain()),
      this.#deps.backend.events.onAppend((events) => {
        if (events.some(({ name }) => name === 'reset')) this.#beatsUntilLoss = BEATS_AFTER_LOSS
      }),
    ]
    this.#deps.masters.onBeat(() => this.#onBeat())
    this.#heartbeat.start()
  }

  /** Clients that hear of a connection read its record, which names it only after a heartbeat of this master. */
  #onBeat(): void {
    if (this.#beatsUntilLoss === 0) return
    this.#beatsUntilLoss -= 1
    if (this.#beatsUntilLoss === 0) this.#stateEvents.eventsLost()
  }

  async stop(): Promise<void> {
    await this.closeAll(CLOSE.GOING_AWAY, 'the master is stopping')
    this.#heartbeat.stop()
    for (const stop of this.#stops) stop()
    await this.#heartbeats.stop()
    await this.#tallies.stop()
    this.#deps.processLoad?.stop()
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#admission.upgrade(request, socket, head)
  }

  resume(upgrade: PendingUpgrade): void {
    this.#admission.resume(upgrade)
  }

  accept(handshake: Handshake, upgrade: Upgrade): (() => void) | null {
    return this.#admission.accept(handshake, upgrade)
  }

  async closeAll(code: number, reason: string): Promise<void> {
    this.#admission.close()
    for (const connection of this.#connections.values()) connection.close(code, reason)
    if (this.#connections.size + this.#admission.refusedSockets > 0) await this.#emptied()
  }

  closeRevoked(): void {
    const principals = new Map<string, Principal | undefined>()
    for (const connection of this.#connections.values()) {
      const { bearerToken, verified, entry, id } = connection
      if (verified === undefined && !principals.has(bearerToken))
        principals.set(bearerToken, this.#deps.identify(bearerToken))
      const isValid =
        verified === undefined
          ? isWorkerOf(principals.get(bearerToken), entry.type, id)
          : this.#deps.isStillValid?.(verified) === true
      if (!isValid) connection.close(CLOSE.INVALID_TOKEN, BAD_TOKEN)
    }
  }

  readLogs(...[conn, query]: Parameters<LogReads['read']>): Promise<LogReadResult> {
    return this.#logReads.read(conn, query)
  }

  #serve(socket: AcceptedSocket, { type, id, bearerToken, verified, features, version }: Handshake): void {
    const entry = this.#deps.catalog.get(type)
    if (entry === undefined || bearerToken === undefined) throw new TypeError('a refused handshake was accepted')
    const connection = new Connection(socket, entry, id, bearerToken, this.#deps.clock.monotonicMs())
    if (features !== undefined)
      connection.features = new Set([...features].filter((name) => this.#deps.releases?.features.has(name)))
    connection.version = version
    if (verified?.kind === 'authenticated') connection.verified = verified.principal
    this.#connections.set(socket, connection)
    this.#unregistered.add(connection)
    socket.on('error', this.#onError)
    socket.on('message', this.#onMessage)
    socket.on('pong', this.#onPong)
    socket.on('close', this.#onClose)
  }

  // Shared by all sockets, which call these handlers with the socket as `this`.
  readonly #onMessage = onSocket((socket, data: RawData, isBinary: boolean) => {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    if (isBinary) this.#inbound.refuse(connection, CLOSE.INVALID_FRAME, 'frames must be JSON text; this one is binary')
    else this.#inbound.receive(connection, (data as Buffer).toString())
  })

  readonly #onPong = onSocket((socket) => {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.missedPings = 0
  })

  /**
   * Called when `ws` closed the socket because of a protocol fault. Network errors need no handling: a close follows.
   */
  readonly #onError = onSocket((socket) => {
    const connection = this.#connections.get(socket)
    const { sentCode, fault } = connection?.socket ?? {}
    if (connection !== undefined && sentCode !== undefined && fault !== undefined)
      this.#inbound.refuse(connection, sentCode, fault)
  })

  readonly #onClose = onSocket((socket, received: number, reason: Buffer) => {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    const code = connection.socket.sentCode ?? received
    connection.isClosed = true
    connection.isEnded = received === CLOSE.WORKER_ENDED
    connection.end = endOf(connection, received, reason.toString())
    connection.phase = 'closing'
    this.#closed.inc({ code: KNOWN_CODES.has(code) ? code : 'other' })
    this.#connections.delete(socket)
    this.#unregistered.delete(connection)
    this.#byConn.delete(connection.conn)
    this.#outbound.forget(connection)
    this.#logReads.closed(connection)
    this.#backpressure.forget(connection)
    if (connection.isStored) this.#heartbeats.ended(connection)
    this.#checkEmpty()
  })

  #onSignal(signal: SocketSignal): void {
    const connection = this.#byConn.get(signal.conn)
    if (connection === undefined) return
    switch (signal.kind) {
      case 'config_changed':
        return this.#outbound.configChanged(connection, signal.gen)
      case 'cancelled':
        return this.#outbound.cancelled(connection, signal.leases)
      case 'drain':
        this.#stateEvents.markPublished(connection, 'DRAINING') // The drain request has already published it.
        return this.#outbound.drain(connection)
      case 'read_logs':
      case 'logs':
        return // For master/worker-logs.
      case 'replaced':
        connection.isDetached = true
        this.#stateEvents.forget(connection)
        return connection.close(CLOSE.POLICY, 'replaced by a newer connection')
    }
  }

  /** Resolves when no socket is left. Terminates those that do not respond to the close. */
  async #emptied(): Promise<void> {
    const empty = new Promise<void>((resolve) => void this.#onEmpty.push(resolve))
    const cancel = this.#deps.timers.after(CLOSE_GRACE_MS, () => {
      for (const socket of this.#connections.keys()) socket.terminate()
      this.#admission.terminateRefused()
    })
    await empty
    cancel()
  }

  #checkEmpty(): void {
    if (this.#connections.size + this.#admission.refusedSockets > 0) return
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

/** How a socket ended (D195). A worker that ends in an orderly way may have sent its close frame before ours. */
function endOf({ closedBecause, isEnded, socket }: Connection, received: number, reason: string): ConnectionEnd {
  const { sentCode, fault = '' } = socket
  if (sentCode !== undefined && !isEnded)
    return { by: 'master', code: sentCode, reason: closedBecause === '' ? closeReason(fault) : closedBecause }
  const by = received === CLOSE_ABNORMAL ? 'network' : 'worker'
  return { by, code: received, reason: closeReason(reason) }
}

function onSocket<Args extends readonly unknown[]>(handle: (socket: FrameSocket, ...args: Args) => void) {
  return function (this: FrameSocket, ...args: Args): void {
    handle(this, ...args)
  }
}
