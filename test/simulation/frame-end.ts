/**
 * Both ends of a simulated WebSocket, with the behaviour of `ws` that master and worker rely on: messages in order, a
 * closing handshake, code 1006 without one, and pongs that are sent by themselves.
 */
import { EventEmitter } from 'node:events'
import { SOCKET_OPEN } from '../../src/runtime/index.ts'
import type { AcceptedSocket } from '../../src/master/index.ts'
import type { Channel, Network } from './network.ts'
import type { SimProcess } from './process.ts'

const [CONNECTING, CLOSING, CLOSED] = [0, 2, 3]
const CLOSE_WITHIN_MS = 30_000
const ABNORMAL = 1006

type Frame =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'ping' | 'pong' | 'reset' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }

export class FrameEnd extends EventEmitter implements AcceptedSocket {
  readyState = CONNECTING
  readonly bufferedAmount = 0
  sentCode: number | undefined
  readonly fault = undefined
  readonly process: SimProcess
  readonly #network: Network
  readonly #onText: (text: string) => void
  readonly #channel: Channel = { lastAtMs: 0 }
  #peer: FrameEnd | null = null
  #isPaused = false
  #isSilent = false
  #backlog: Frame[] = []
  #stopWatchingKill = (): void => {}

  /** @param onText Called with each text message that this end passes on. */
  constructor(process: SimProcess, network: Network, onText: (text: string) => void) {
    super()
    this.process = process
    this.#network = network
    this.#onText = onText
  }

  get isOpen(): boolean {
    return this.readyState === SOCKET_OPEN && this.process.isAlive
  }

  /** Connects two ends and opens this one. */
  connect(peer: FrameEnd): void {
    this.#peer = peer
    this.readyState = SOCKET_OPEN
    this.#stopWatchingKill = this.process.onKill(() => peer.#resetSoon())
  }

  /** Loses all frames that this end sends from now on, without a sign to either end. */
  silence(): void {
    this.#isSilent = true
  }

  /** Cuts the connection: both ends notice it immediately. */
  cut(): void {
    const peer = this.#peer
    for (const end of [this, peer]) end?.process.after(0, () => end.#receive({ kind: 'reset' }))
  }

  /** Ends a connection that was never made. */
  fail(why: string): void {
    if (this.readyState === CLOSED) return
    this.emit('error', new Error(why))
    this.#finish(ABNORMAL, '')
  }

  send(text: string, done?: (error?: Error) => void): void {
    const isOpen = this.readyState === SOCKET_OPEN
    if (isOpen) this.#transmit({ kind: 'text', text })
    this.process.after(0, () => done?.(isOpen ? undefined : new Error('the socket is not open')))
  }

  ping(): void {
    this.#transmit({ kind: 'ping' })
  }

  close(code: number, reason: string): void {
    if (this.readyState === CONNECTING) return this.terminate()
    if (this.readyState !== SOCKET_OPEN) return
    this.sentCode ??= code
    this.readyState = CLOSING
    this.#transmit({ kind: 'close', code, reason })
    this.process.after(CLOSE_WITHIN_MS, () => this.#finish(ABNORMAL, ''))
  }

  terminate(): void {
    if (this.readyState === CLOSED) return
    this.#transmit({ kind: 'reset' })
    this.readyState = CLOSING
    this.process.after(0, () => this.#finish(ABNORMAL, ''))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const frame of this.#backlog.splice(0)) this.process.after(0, () => this.#receive(frame))
  }

  #transmit(frame: Frame): void {
    const peer = this.#peer
    if (peer === null || this.#isSilent) return
    this.#network.send(this.process, peer.process, this.#channel, () => peer.#receive(frame))
  }

  #receive(frame: Frame): void {
    if (this.readyState === CLOSED) return
    if (frame.kind === 'reset') return this.#finish(ABNORMAL, '')
    if (this.#isPaused) return void this.#backlog.push(frame)
    switch (frame.kind) {
      case 'text':
        if (this.readyState !== SOCKET_OPEN) return
        this.#onText(frame.text)
        return void this.emit('message', Buffer.from(frame.text), false)
      case 'ping':
        this.emit('ping')
        return this.#transmit({ kind: 'pong' })
      case 'pong':
        return void this.emit('pong')
      case 'close':
        if (this.readyState === SOCKET_OPEN) this.#transmit(frame)
        return this.#finish(frame.code, frame.reason)
    }
  }

  /** The process of the peer was killed: its kernel resets the connection. */
  #resetSoon(): void {
    this.process.after(1 + 50 * this.#network.unit(), () => this.#receive({ kind: 'reset' }))
  }

  #finish(code: number, reason: string): void {
    if (this.readyState === CLOSED) return
    this.readyState = CLOSED
    this.#stopWatchingKill()
    this.emit('close', code, Buffer.from(reason))
  }
}
