/**
 * @module master/control/admission
 * Decides about each handshake of the control channel.
 *
 *   upgrade ── path ──▶ token, type, id ──▶ socket bound ──▶ HandshakeQueue ──▶ admitted
 *                │ 404          │ 4401, 1008       │ 503             │ 503
 *
 * A socket with an invalid token is accepted and then closed with 4401, so that every client can read the code (D12).
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Counter, Gauge } from 'prom-client'
import { WebSocketServer } from 'ws'
import { CLOSE, FEATURE_HEADERS, FleetError, isWorkerId, MAX_FRAME_BYTES } from '../../protocol/index.ts'
import { LogThrottle, type ProcessLoad } from '../../runtime/index.ts'
import { NO_AUDIT, type Audit, type TokenRejection } from '../audit/index.ts'
import { mayAccess, type Authentication, type Principal } from '../auth/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { MasterReleases } from '../master-releases.ts'
import { rejectRaw } from '../http/index.ts'
import { boundPieces, ControlSocket, type AcceptedSocket } from './control-socket.ts'
import { readHandshake, type Handshake } from './handshake.ts'
import { HandshakeQueue } from './handshake-queue.ts'
import { HeldUpgrade } from './held-upgrade.ts'
import { EARLY_DATA } from './limits.ts'
import { RefusedSockets } from './refused-sockets.ts'
import type { PendingUpgrade } from './startup-upgrades.ts'

export interface AdmissionDeps extends MasterDeps {
  /** Finds the principal of a token. */
  readonly identify: (bearerToken: string) => Principal | undefined
  /** What is known of a token without asking its issuer. If left out, only `identify` is asked. */
  readonly check?: (bearerToken: string) => Authentication
  /** Whether a principal is still accepted. If left out, `identify` is called again. */
  readonly isStillValid?: (principal: Principal) => boolean
  /** If left out, no audit trail is written. */
  readonly audit?: Audit
  /** Slows the admission while this process is busy. If left out, it never counts as busy. */
  readonly processLoad?: ProcessLoad | undefined
  /** Admitted sockets that are open. */
  readonly sockets: () => number
  /** Of these, sockets whose register is not stored yet. */
  readonly unregistered: () => number
  /** What the live masters implement. */
  readonly releases: MasterReleases
  readonly onAdmitted: (socket: AcceptedSocket, handshake: Handshake) => void
  /** Called after a socket closed that had been opened only to send a close code. */
  readonly onRefusedClosed: () => void
}

/** An upgrade request. One of the two is called, once, unless its client disconnects before. */
export interface Upgrade {
  /** Completes the upgrade, and passes on the socket. */
  open(use: (socket: AcceptedSocket) => void): void
  /** Refuses the upgrade with status 503. */
  refuse(detail: string, retryAfterSeconds: number): void
}

interface Rejection {
  readonly code: number
  readonly reason: string
}

export const BAD_TOKEN = 'the worker token is missing or invalid'
const STOPPING = 'the master is stopping'

export class Admission {
  readonly #deps: AdmissionDeps
  readonly #server = new WebSocketServer<typeof ControlSocket>({
    WebSocket: ControlSocket,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: 0,
  })
  readonly #queue: HandshakeQueue
  readonly #refusedSockets: RefusedSockets
  readonly #logThrottle: LogThrottle
  readonly #refused: Counter<'reason'>
  #closing = false

  constructor(deps: AdmissionDeps) {
    const { clock, metrics, random, timers, unregistered } = deps
    this.#deps = deps
    this.#queue = new HandshakeQueue({ clock, timers, random, load: deps.processLoad ?? null, unregistered })
    this.#server.on('headers', (headers) => headers.push(...this.#offer()))
    this.#refusedSockets = new RefusedSockets(timers, () => deps.onRefusedClosed())
    this.#logThrottle = new LogThrottle(clock)
    this.#refused = new Counter({
      name: 'svc_control_refused_total',
      help: 'Control handshakes refused.',
      labelNames: ['reason'],
      registers: [metrics],
    })
    const waiting: Gauge = new Gauge({
      name: 'svc_control_handshakes_waiting',
      help: 'Control handshakes that wait to be admitted.',
      registers: [metrics],
      collect: () => waiting.set(this.#queue.length),
    })
  }

  /** Sockets that are being closed with a close code. */
  get refusedSockets(): number {
    return this.#refusedSockets.size
  }

  terminateRefused(): void {
    this.#refusedSockets.terminateAll()
  }

  /** Refuses all handshakes from now on, also those that wait. */
  close(): void {
    this.#closing = true
    this.#queue.close(STOPPING)
  }

  /** Whether the token may speak for the worker. */
  mayServe(handshake: Pick<Handshake, 'bearerToken' | 'type' | 'id' | 'verified'>): boolean {
    const { type, id } = handshake
    const principal = this.#principalOf(handshake)
    return principal !== undefined && mayAccess(principal, 'work', type, id)
  }

  #principalOf({ bearerToken, verified }: Pick<Handshake, 'bearerToken' | 'verified'>): Principal | undefined {
    if (verified?.kind === 'authenticated')
      return this.#deps.isStillValid?.(verified.principal) === true ? verified.principal : undefined
    return bearerToken === undefined ? undefined : this.#deps.identify(bearerToken)
  }

  /** Handles an upgrade request of the HTTP server, for any path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const handshake = readHandshake(request)
    if (handshake === null) return this.#refuse(socket, 404, 'path', 'this path does not support upgrades')
    this.resume({ request, socket, head, handshake, arrivedAtMs: this.#deps.clock.monotonicMs() })
  }

  /** Handles an upgrade whose handshake was read before, while the master started. */
  resume(pending: PendingUpgrade): void {
    const { bearerToken } = pending.handshake
    const authentication = bearerToken === undefined ? undefined : this.#deps.check?.(bearerToken)
    if (authentication?.kind === 'unverified') this.#verify(pending, authentication.verify)
    else this.#resume(pending)
  }

  /** Holds the socket while a JWT is verified. */
  #verify(pending: PendingUpgrade, verify: () => Promise<Authentication>): void {
    const { socket, head, handshake } = pending
    let isOver = false
    const held = new HeldUpgrade(socket, head, (why) => {
      isOver = true
      held.release()
      if (why === 'disconnected') socket.destroy()
      else this.#refuse(socket, 400, 'early_data', EARLY_DATA)
    })
    verify().then(
      (verified) => {
        if (!isOver) this.#resume({ ...pending, head: held.release(), handshake: { ...handshake, verified } })
      },
      (error: unknown) => {
        if (isOver) return
        const early = held.release()
        if (!(error instanceof FleetError) || error.code !== 'FORBIDDEN')
          return this.#refuse(socket, 503, 'room', 'the token could not be verified; try again', { 'retry-after': '1' })
        const verified = { kind: 'rejected', reason: 'invalid', detail: error.message } as const
        this.#resume({ ...pending, head: early, handshake: { ...handshake, verified } })
      },
    )
  }

  #resume({ request, socket, head, handshake, arrivedAtMs }: PendingUpgrade): void {
    const rejection = this.#rejectionOf(handshake)
    if (rejection?.code === CLOSE.INVALID_TOKEN && !this.#closing) this.#auditRefusal(handshake, request)
    let held: HeldUpgrade | null = null
    const upgrade: Upgrade = {
      open: (use) => this.#open(request, socket, held?.release() ?? head, use),
      refuse: (detail, retryAfterSeconds) => {
        held?.release()
        this.#refuse(socket, 503, 'room', detail, { 'retry-after': `${retryAfterSeconds}` })
      },
    }
    const leave = this.#decide(handshake, rejection, upgrade, arrivedAtMs)
    if (leave === null) return
    held = new HeldUpgrade(socket, head, (why) => {
      leave()
      held?.release()
      if (why === 'disconnected') socket.destroy()
      else this.#refuse(socket, 400, 'early_data', EARLY_DATA)
    })
  }

  /**
   * Handles a handshake, also one of a simulated network.
   * @returns null if it is decided. Otherwise it waits, and the returned function is to be called if its client
   *   disconnects meanwhile.
   */
  accept(handshake: Handshake, upgrade: Upgrade): (() => void) | null {
    return this.#decide(handshake, this.#rejectionOf(handshake), upgrade, this.#deps.clock.monotonicMs())
  }

  #decide(
    handshake: Handshake,
    rejection: Rejection | null,
    upgrade: Upgrade,
    arrivedAtMs: number,
  ): (() => void) | null {
    const { settings, sockets } = this.#deps
    if (this.#closing) upgrade.refuse(STOPPING, 1)
    else if (rejection !== null) this.#reject(upgrade, rejection)
    else if (sockets() + this.#queue.length >= settings.maxSockets)
      upgrade.refuse(`this master already serves ${settings.maxSockets} workers, its limit`, 1)
    else
      return this.#queue.add(
        {
          admit: () => this.#admit(handshake, upgrade),
          refuse: (detail, retryAfterSeconds) => {
            if (!this.#closing) this.#logRefusal(retryAfterSeconds)
            upgrade.refuse(detail, retryAfterSeconds)
          },
        },
        arrivedAtMs,
      )
    return null
  }

  /** Opens the socket. The token may have been revoked while the handshake waited. */
  #admit(handshake: Handshake, upgrade: Upgrade): void {
    const rejection = this.#rejectionOf(handshake)
    if (rejection === null) upgrade.open((socket) => this.#deps.onAdmitted(socket, handshake))
    else this.#reject(upgrade, rejection)
  }

  /** Opens the socket only to send the close code. */
  #reject(upgrade: Upgrade, { code, reason }: Rejection): void {
    if (this.#refusedSockets.isFull) return upgrade.refuse('too many clients are being rejected; try again', 1)
    upgrade.open((socket) => {
      this.#refused.inc({ reason: code === CLOSE.INVALID_TOKEN ? 'token' : 'path' })
      socket.on('error', ignored)
      this.#refusedSockets.close(socket, code, reason)
    })
  }

  /**
   * Why a handshake is rejected; null if it is not. The token is checked first, so that strangers learn nothing else.
   */
  #rejectionOf(handshake: Handshake): Rejection | null {
    const { type, id } = handshake
    if (!this.mayServe(handshake)) return { code: CLOSE.INVALID_TOKEN, reason: this.#refusalOf(handshake) }
    if (!this.#deps.catalog.has(type))
      return { code: CLOSE.POLICY, reason: 'the automation type of the path is not installed' }
    return isWorkerId(id) ? null : { code: CLOSE.POLICY, reason: 'the worker id of the path is not valid' }
  }

  #open(request: IncomingMessage, socket: Duplex, head: Buffer, use: (accepted: ControlSocket) => void): void {
    this.#server.handleUpgrade(request, socket, head, (accepted) => {
      boundPieces(accepted, socket)
      socket.resume() // A socket that waited is paused.
      use(accepted)
    })
  }

  /** The headers of an accepted upgrade (D120). */
  #offer(): readonly string[] {
    const { epoch, releases } = this.#deps
    return [
      `${FEATURE_HEADERS.version}: ${releases.version}`,
      `${FEATURE_HEADERS.features}: ${[...releases.features].join(', ')}`,
      `${FEATURE_HEADERS.epoch}: ${epoch.current}`,
    ]
  }

  #refuse(
    socket: Duplex,
    status: 400 | 404 | 503,
    reason: string,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#refused.inc({ reason })
    rejectRaw(socket, status, detail, this.#deps.random.uuid(), headers)
  }

  #logRefusal(retryAfterSeconds: number): void {
    this.#logThrottle.run('handshakes', (suppressed) =>
      this.#deps.log.warn('rejected workers that waited for admission; they reconnect', {
        waiting: this.#queue.length,
        handshakes_per_second: this.#queue.perSecond,
        is_memory_short: this.#queue.isMemoryShort,
        retry_after_seconds: retryAfterSeconds,
        suppressed,
      }),
    )
  }

  /** Writes one line to the audit trail for a handshake whose token is not a worker token. */
  #auditRefusal(handshake: Handshake, request: IncomingMessage): void {
    const { audit = NO_AUDIT } = this.#deps
    audit.refusedToken(this.#tokenRejectionOf(handshake), request.socket.remoteAddress, request.url ?? '')
  }

  /** The reason of the close frame, at most 123 bytes. */
  #refusalOf(handshake: Handshake): string {
    const rejection = this.#tokenRejectionOf(handshake)
    if (rejection === 'expired') return 'the worker token expired; use a new one'
    const { verified } = handshake
    if (rejection === 'invalid' && verified?.kind === 'rejected' && verified.reason === 'invalid')
      return verified.detail
    return this.#principalOf(handshake)?.role === 'worker' ? 'the worker token does not cover this worker' : BAD_TOKEN
  }

  #tokenRejectionOf(handshake: Handshake): TokenRejection {
    const { bearerToken, verified } = handshake
    if (bearerToken === undefined) return 'missing'
    if (this.#principalOf(handshake) !== undefined) return 'role'
    const authentication = verified ?? this.#deps.check?.(bearerToken)
    return authentication?.kind === 'rejected' ? authentication.reason : 'wrong'
  }
}

/** An error of a socket is always followed by its close, which is handled. */
function ignored(): void {}
