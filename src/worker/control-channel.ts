/**
 * @module worker/control-channel
 * The WebSocket to the master, kept up for as long as the worker lives.
 *
 *   connecting ──open: register, ping──▶ greeting ──ping comes back──▶ open ──close──▶ waiting ──delay──▶ connecting
 *        └── handshake refused, or closed while greeting ────────────────────────────────▶┘
 *   close code 4000 ──▶ refused, for good: no version of ours will suit this master
 *
 * A bad token shows only after the upgrade, as close code 4401 (D12), and nothing on the wire confirms a register. So a
 * ping of ours follows it, and what the outbox holds is sent when that ping has come back: not into a closing door.
 * The delay is drawn from [d/2, d], d = 1, 2, 4 … 30 s, and starts over after 30 s of a good connection, so that a
 * fleet comes back spread out (G13); the Retry-After of a refusal is a lower bound for it, up to 30 s (D68). A peer that sends not a byte for 45 s
 * is dead: the master pings every 20 s (G12). The token is asked for anew at each try, so a rotated one takes effect.
 */
import type { IncomingMessage } from 'node:http'
import type { Static } from 'typebox'
import { WebSocket, type RawData } from 'ws'
import {
  CLOSE,
  decodeMasterFrame,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  RECONNECT_BASE_MS,
  RECONNECT_CAP_MS,
  WORKER_SILENCE_MS,
  type Hardware,
  type MasterFrame,
} from '../protocol/index.ts'
import {
  Backoff,
  parseRetryAfter,
  retryAfterDelayMs,
  type Cancel,
  type Clock,
  type Log,
  type Random,
  type Timers,
} from '../runtime/index.ts'
import type { Outbox } from './outbox.ts'

const HANDSHAKE_MS = 15_000
/** A master that answers no ping is believed to be there after this long. */
const GREETING_MS = 2_000
const GOOD_AFTER_MS = 30_000
const CLOSE_WITHIN_MS = 2_000
const CLOSE_ABNORMAL = 1006
const NOT_A_MASTER =
  'check that SVC_MASTER_URL is the URL of the master, and that the proxy in front of it forwards WebSocket upgrades'
/** How the master begins its reason when a newer connection has taken the worker id (D11). */
const REPLACED = 'replaced'

interface Identity {
  readonly workerId: string
  readonly type: string
  /** Random per process (D5). */
  readonly instanceId: string
  readonly hardware: () => Static<typeof Hardware>
}

export interface ChannelDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly url: string
  readonly token: () => string
  readonly identity: Identity
  readonly outbox: Outbox
  /** The master has taken this connection and read `register`. */
  readonly onOpen: () => void
  readonly onClose: () => void
  readonly onFrame: (frame: MasterFrame) => void
  /** The master speaks another protocol version: nothing will change that. */
  readonly onRefused: (why: string) => void
}

export class ControlChannel {
  readonly #deps: ChannelDeps
  readonly #backoff: Backoff
  #socket: WebSocket | undefined
  #openedAtMs: number | undefined
  #isOpen = false
  #cancelRetry: Cancel | undefined
  #cancelSilence: Cancel | undefined
  #cancelGreeting: Cancel | undefined
  /** The id of the ping that was not answered yet. */
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

  /** Milliseconds since this connection opened; 0 while there is none. */
  get ageMs(): number {
    return this.#openedAtMs === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#openedAtMs
  }

  start(): void {
    this.#connect()
  }

  /** Ends this connection; the next one registers again (D7). */
  reconnect(why: string): void {
    if (!this.#isOpen) return
    this.#deps.log.info('reconnecting the control channel', { why })
    this.#socket?.close(1000, 'registers again')
    this.#watch(CLOSE_WITHIN_MS)
  }

  /** Ends the channel for good; resolves when the socket is gone. */
  async close(): Promise<void> {
    this.#ended = true
    this.#cancelRetry?.()
    const socket = this.#socket
    if (socket === undefined) return
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
    socket.close(1000, 'the worker stopped')
    this.#watch(CLOSE_WITHIN_MS)
    await closed
  }

  #connect(): void {
    try {
      this.#dial()
    } catch (error) {
      this.#closed(CLOSE_ABNORMAL, (error as Error).message) // A token that no header can hold.
    }
  }

  #dial(): void {
    let refused = false
    const socket = new WebSocket(this.#deps.url, {
      headers: { authorization: `Bearer ${this.#deps.token()}` },
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      followRedirects: false,
    })
    this.#socket = socket
    this.#retryAfterMs = 0
    this.#watch(HANDSHAKE_MS)
    socket.on('open', () => this.#opened(socket))
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

  #opened(socket: WebSocket): void {
    const { clock, identity, random, timers } = this.#deps
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
      }),
    )
    const greeting = random.uuid()
    socket.send(JSON.stringify({ type: 'ping', id: greeting }))
    this.#greeting = greeting
    this.#cancelGreeting = timers.after(GREETING_MS, () => this.#greeted(socket))
  }

  #greeted(socket: WebSocket): void {
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
    this.#deps.onOpen()
  }

  #received(socket: WebSocket, data: RawData, isBinary: boolean): void {
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
    else if (frame.id === this.#greeting) this.#greeted(socket)
  }

  #handshakeRefused(response: IncomingMessage): void {
    const status = response.statusCode ?? 0
    this.#retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#deps.clock.wallMs()) ?? 0
    if (status === 401 || status === 403) this.#tokenRefused(`HTTP ${status}`)
    else
      this.#deps.log.warn('the master rejected the control channel', {
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
    outbox.detach()
    if (wasOpen) onClose()
    if (this.#ended) return
    if (code === CLOSE.PROTOCOL_VERSION) {
      this.#ended = true
      return onRefused(
        `the master does not support protocol version ${PROTOCOL_VERSION} (${reason}); run the same release of master and worker`,
      )
    }
    if (code === CLOSE.INVALID_TOKEN) this.#tokenRefused(`close code ${code}`)
    if (code === CLOSE.POLICY && reason.startsWith(REPLACED))
      log.warn('another process registered with the ID of this worker: set a different SVC_WORKER_ID for each worker')
    const delayMs = Math.max(this.#backoff.nextMs(), retryAfterDelayMs(this.#retryAfterMs, this.#deps.random))
    log.info('control channel closed', { code, reason, retry_in_ms: Math.round(delayMs) })
    this.#cancelRetry = this.#deps.timers.after(delayMs, () => this.#connect())
  }

  #markAlive(): void {
    this.#lastByteMs = this.#deps.clock.monotonicMs()
  }

  /** Ends the socket once it was silent for `ms`; a longer watch that is set is replaced. */
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
