/**
 * @module worker/control-channel
 * Keeps the WebSocket to the master open until the worker stops.
 *
 *   connecting ──open: register, ping──▶ greeting ──ping comes back──▶ open ──close──▶ waiting ──delay──▶ connecting
 *        └── handshake refused, or closed while greeting ────────────────────────────────▶┘
 *   close code 4000 ──▶ rejected permanently: the protocol versions do not match
 *
 * The master rejects an invalid token only after the upgrade, with close code 4401 (D12), and does not confirm a
 * register. The worker therefore sends a ping after `register`, and sends the content of the outbox only when the
 * response to that ping arrives.
 *
 * The reconnect delay is drawn from [d/2, d], with d = 1, 2, 4 … 30 s, and resets after 30 s of connection. The workers
 * of a fleet therefore reconnect spread over time (G13). A Retry-After header is a lower bound, up to 30 s (D68). The
 * master pings every 20 s, so 45 s without data count as a dead connection (G12). The token is read for each attempt,
 * so a rotated token takes effect. A token that expires is replaced before: once 80 % of its lifetime have passed and
 * its file has another one, the channel connects again with that.
 */
import type { IncomingMessage } from 'node:http'
import type { Static } from 'typebox'
import { WebSocket, type RawData } from 'ws'
import {
  CLOSE,
  decodeMasterFrame,
  FEATURE_HEADERS,
  FEATURES,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  RECONNECT_BASE_MS,
  RECONNECT_CAP_MS,
  WORKER_SILENCE_MS,
  type Hardware,
  type MasterFrame,
  type WorkerLabels,
} from '../protocol/index.ts'
import {
  Backoff,
  parseRetryAfter,
  retryAfterDelayMs,
  type Cancel,
  type Clock,
  type FrameSocket,
  type Log,
  type Random,
  type Timers,
} from '../runtime/index.ts'
import type { MasterFeatures } from './master-features.ts'
import type { Outbox } from './outbox.ts'
import { renewalMsOf } from './token-lifetime.ts'

const HANDSHAKE_MS = 15_000
/** How long to wait for the response to the first ping. A master that sends none counts as connected after that. */
const GREETING_MS = 2_000
const GOOD_AFTER_MS = 30_000
const CLOSE_WITHIN_MS = 2_000
const CLOSE_ABNORMAL = 1006
const NOT_A_MASTER =
  'check that SVC_MASTER_URL is the URL of the master, and that the proxy in front of it forwards WebSocket upgrades'
/** Beginning of the close reason when a newer connection replaced this one (D11). */
const REPLACED = 'replaced'

interface Identity {
  readonly workerId: string
  readonly type: string
  /** Random per process (D5). */
  readonly instanceId: string
  readonly hardware: () => Static<typeof Hardware>
  /** Sent only to a master that knows the field. */
  readonly labels: WorkerLabels
}

/** What `dial` opens: `ws`, or a simulated socket. */
interface DialedSocket extends FrameSocket {
  on: FrameSocket['on'] & {
    /** The master accepted the upgrade. An `open` follows. */
    (event: 'upgrade', listener: (response: Pick<IncomingMessage, 'headers'>) => void): unknown
    /** The master responded to the upgrade request with another status. The caller destroys the request. */
    (
      event: 'unexpected-response',
      listener: (request: { destroy(): unknown }, response: Pick<IncomingMessage, 'statusCode' | 'headers'>) => void,
    ): unknown
  }
}

/**
 * Opens a WebSocket.
 * @throws {Error} if a header contains characters that a header cannot contain.
 */
export type Dial = (url: string, headers: Readonly<Record<string, string>>) => DialedSocket

/** How often a token that is to be replaced is compared with its file. */
const TOKEN_CHECK_MS = 2_000

export interface ChannelDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly url: string
  /** Opens the socket. By default one of `ws`. */
  readonly dial?: Dial | undefined
  readonly token: () => string
  readonly identity: Identity
  readonly outbox: Outbox
  /** Receives what the master offers in the upgrade response. */
  readonly features: MasterFeatures
  /** The version of this program, for the upgrade; omitted if unknown. */
  readonly version?: string | undefined
  /**
   * Called when the master has accepted this connection.
   * @param isRegistered Whether it has confirmed that it stored `register`.
   */
  readonly onOpen: (isRegistered: boolean) => void
  readonly onClose: () => void
  readonly onFrame: (frame: MasterFrame) => void
  /** Called when the master does not support the protocol version, which is permanent. */
  readonly onRefused: (why: string) => void
}

export class ControlChannel {
  readonly #deps: ChannelDeps
  readonly #backoff: Backoff
  #socket: FrameSocket | undefined
  #openedAtMs: number | undefined
  #isOpen = false
  #cancelRetry: Cancel | undefined
  #cancelSilence: Cancel | undefined
  #cancelGreeting: Cancel | undefined
  #cancelRenewal: Cancel | undefined
  /** Whether the connection is closed to use a new token: the next one follows immediately. */
  #isRenewing = false
  /** The id of the first ping while its response is outstanding. */
  #greeting: string | undefined
  #lastByteMs = 0
  #retryAfterMs = 0
  #ended = false

  constructor(deps: ChannelDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: RECONNECT_BASE_MS, capMs: RECONNECT_CAP_MS, floor: 0.5, random: deps.random })
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Milliseconds since this connection opened; 0 without a connection. */
  get ageMs(): number {
    return this.#openedAtMs === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#openedAtMs
  }

  start(): void {
    this.#connect()
  }

  /** Closes this connection. The next connection registers again (D7). */
  reconnect(why: string): void {
    if (!this.#isOpen) return
    this.#deps.log.info('reconnecting the control channel', { why })
    this.#socket?.close(1000, 'registers again')
    this.#watch(CLOSE_WITHIN_MS)
  }

  /**
   * Closes the channel permanently. Resolves when the socket is closed.
   *
   * @param isOrderly The process ends as it should, so its end is no failure (D142).
   */
  async close(isOrderly: boolean): Promise<void> {
    this.#ended = true
    this.#cancelRetry?.()
    const socket = this.#socket
    if (socket === undefined) return
    const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()))
    socket.close(isOrderly ? CLOSE.WORKER_ENDED : 1000, 'the worker stopped')
    this.#watch(CLOSE_WITHIN_MS)
    await closed
  }

  #connect(): void {
    try {
      this.#dial()
    } catch (error) {
      // The token contains characters that a header cannot contain.
      this.#closed(CLOSE_ABNORMAL, (error as Error).message)
    }
  }

  #dial(): void {
    let refused = false
    const { dial = dialWebSocket, features, token, url, version } = this.#deps
    features.read({})
    const bearerToken = token()
    const socket = dial(url, {
      authorization: `Bearer ${bearerToken}`,
      [FEATURE_HEADERS.features]: FEATURES.join(', '),
      ...(version !== undefined && { [FEATURE_HEADERS.version]: version }),
    })
    socket.on('upgrade', ({ headers }) => features.read(headers))
    this.#socket = socket
    this.#retryAfterMs = 0
    this.#watch(HANDSHAKE_MS)
    socket.on('open', () => {
      this.#opened(socket)
      this.#renewLater(bearerToken)
    })
    socket.on('message', (data, isBinary) => this.#received(socket, data, isBinary))
    socket.on('ping', () => this.#markAlive())
    socket.on('unexpected-response', (request, response) => {
      refused = true
      this.#handshakeRefused(response)
      request.destroy()
      socket.terminate()
    })
    socket.on('error', (error) => refused || this.#deps.log.warn('control channel error', { error: error.message }))
    socket.on('close', (code, reason) => this.#closed(code, reason.toString()))
  }

  /** Connects again with the next token, if this one expires. */
  #renewLater(bearerToken: string): void {
    const { clock, timers, token } = this.#deps
    const renewalMs = renewalMsOf(bearerToken)
    if (renewalMs === null) return
    const check = (): void => {
      if (token() === bearerToken || !this.#isOpen) {
        this.#cancelRenewal = timers.after(TOKEN_CHECK_MS, check)
        return
      }
      this.#isRenewing = true
      this.reconnect('the worker token expires soon')
    }
    this.#cancelRenewal = timers.after(Math.max(0, renewalMs - clock.wallMs()), check)
  }

  #opened(socket: FrameSocket): void {
    const { clock, features, identity, random, timers } = this.#deps
    const hasLabels = Object.keys(identity.labels).length > 0
    if (hasLabels && !features.has('labels'))
      this.#deps.log.warn('the master is of a release that does not know worker labels: connecting without them')
    this.#openedAtMs = clock.monotonicMs()
    this.#markAlive()
    this.#watch(WORKER_SILENCE_MS)
    socket.send(
      JSON.stringify({
        type: 'register',
        worker_id: identity.workerId,
        automation_type: identity.type,
        protocol_version: PROTOCOL_VERSION,
        hardware: identity.hardware(),
        instance_id: identity.instanceId,
        ...(hasLabels && features.has('labels') && { labels: identity.labels }),
      }),
    )
    const greeting = random.uuid()
    socket.send(JSON.stringify({ type: 'ping', id: greeting }))
    this.#greeting = greeting
    this.#cancelGreeting = timers.after(GREETING_MS, () => this.#greeted(socket, false))
  }

  #greeted(socket: FrameSocket, isRegistered: boolean): void {
    this.#cancelGreeting?.()
    this.#greeting = undefined
    this.#isOpen = true
    this.#deps.log.info('connected to the master', { url: this.#deps.url })
    this.#deps.outbox.attach({
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      send: (text, done) => socket.send(text, () => done()),
    })
    this.#deps.onOpen(isRegistered)
  }

  #received(socket: FrameSocket, data: RawData, isBinary: boolean): void {
    this.#markAlive()
    let frame: MasterFrame
    try {
      if (isBinary) throw new Error('the frame is binary')
      frame = decodeMasterFrame((data as Buffer).toString('utf8'))
    } catch (error) {
      this.#deps.log.warn('ignoring an invalid frame of the master; run the same release of master and worker', {
        error: (error as Error).message,
      })
      return
    }
    if (frame.type !== 'ping') this.#deps.onFrame(frame)
    else if (frame.id === this.#greeting) this.#greeted(socket, true)
  }

  #handshakeRefused(response: Pick<IncomingMessage, 'statusCode' | 'headers'>): void {
    const status = response.statusCode ?? 0
    this.#retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#deps.clock.wallMs()) ?? 0
    if (status === 401 || status === 403) this.#tokenRefused(`HTTP ${status}`)
    else
      this.#deps.log.warn('the master rejected the connection of the control channel, retrying', {
        status,
        ...(status < 500 && { advice: NOT_A_MASTER }),
      })
  }

  #tokenRefused(how: string): void {
    this.#deps.log.error('the master rejected the worker token, retrying: correct SVC_WORKER_TOKEN or its file', {
      how,
    })
  }

  #closed(code: number, reason: string): void {
    const { log, onClose, onRefused, outbox } = this.#deps
    const wasOpen = this.#isOpen
    if (this.ageMs >= GOOD_AFTER_MS) this.#backoff.reset()
    this.#openedAtMs = undefined
    this.#isOpen = false
    this.#socket = undefined
    this.#cancelSilence?.()
    this.#cancelGreeting?.()
    this.#cancelRenewal?.()
    outbox.detach()
    if (wasOpen) onClose()
    if (this.#ended) return
    if (code === CLOSE.PROTOCOL_VERSION) {
      this.#ended = true
      return onRefused(
        `the master does not support protocol version ${PROTOCOL_VERSION} (${reason}); ` +
          'run the same release of master and worker',
      )
    }
    if (code === CLOSE.INVALID_TOKEN) this.#tokenRefused(`close code ${code}`)
    if (code === CLOSE.POLICY && reason.startsWith(REPLACED))
      log.warn('another process registered with the ID of this worker: set a different SVC_WORKER_ID for each worker')
    const isRenewing = this.#isRenewing
    this.#isRenewing = false
    const delayMs = isRenewing
      ? 0
      : Math.max(this.#backoff.nextMs(), retryAfterDelayMs(this.#retryAfterMs, this.#deps.random))
    log.info('control channel closed', { code, reason, retry_in_ms: Math.round(delayMs) })
    this.#cancelRetry = this.#deps.timers.after(delayMs, () => this.#connect())
  }

  #markAlive(): void {
    this.#lastByteMs = this.#deps.clock.monotonicMs()
  }

  /** Closes the socket after `ms` without data. Replaces the previous limit. */
  #watch(ms: number): void {
    const { clock, log, timers } = this.#deps
    this.#cancelSilence?.()
    const armedAtMs = clock.monotonicMs()
    const check = (): void => {
      const leftMs = Math.max(this.#lastByteMs, armedAtMs) + ms - clock.monotonicMs()
      if (leftMs > 0) {
        this.#cancelSilence = timers.after(leftMs, check)
        return
      }
      log.warn('no data from the master, closing the connection', { silent_ms: ms })
      this.#socket?.terminate()
    }
    this.#cancelSilence = timers.after(ms, check)
  }
}

const dialWebSocket: Dial = (url, headers) =>
  new WebSocket(url, {
    headers: { ...headers },
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    followRedirects: false,
  })
