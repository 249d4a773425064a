/**
 * A worker outside the cluster that consists of a control channel only: it registers, stays idle, and reconnects after
 * a disconnect with the delays of the runtime. One process can run hundreds of them.
 */
import { WebSocket } from 'ws'
import { MAX_FRAME_BYTES, RECONNECT_BASE_MS, RECONNECT_CAP_MS } from '../../src/protocol/index.ts'
import { Backoff, systemRandom } from '../../src/runtime/index.ts'
import type { Public } from './public.ts'
import { eventually } from '../kit/index.ts'

const CONNECTS_WITHIN_MS = 15_000

export class OutsideSocket {
  readonly type: string
  readonly id: string
  /** Number of disconnects. */
  cuts = 0
  /** Longest time without a connection, registration included. */
  longestOutageMs = 0
  readonly #fleet: Public
  readonly #token: string
  readonly #backoff = new Backoff({
    baseMs: RECONNECT_BASE_MS,
    capMs: RECONNECT_CAP_MS,
    floor: 0.5,
    random: systemRandom,
  })
  #socket: WebSocket | undefined
  /** The master has responded since the registration. */
  #isIn = false
  #downSinceMs: number | undefined
  #pings = 0
  #answered = ''
  #left = false

  constructor(fleet: Public, type: string, id: string, token: string) {
    this.#fleet = fleet
    this.type = type
    this.id = id
    this.#token = token
    this.#connect()
  }

  get isIn(): boolean {
    return this.#isIn
  }

  /** Resolves when the master has read everything that was sent so far. */
  async flushed(): Promise<void> {
    const ping = this.#ping()
    await eventually(`the master responds to ${this.id}`, async () => this.#answered === ping)
  }

  /** Sends one frame of outputs of the maximum frame size. */
  emitLargest(): void {
    const frameOf = (note: string): string =>
      JSON.stringify({ type: 'output', slot_id: 0, ts: 1, payload: { task_id: 'largest', worker: this.id, note } })
    this.#socket?.send(frameOf('x'.repeat(MAX_FRAME_BYTES - frameOf('').length)))
  }

  report(state: 'RUNNING' | 'IDLE'): void {
    this.#socket?.send(JSON.stringify({ type: 'state', state, config_gen: 0, ts: 1, last_error: null }))
  }

  leave(): void {
    this.#left = true
    this.#socket?.terminate()
  }

  #ping(): string {
    const id = `ping ${++this.#pings}`
    this.#socket?.send(JSON.stringify({ type: 'ping', id }))
    return id
  }

  #connect(): void {
    const url = `${this.#fleet.url.replace('https', 'wss')}/api/v1/automations/${this.type}/workers/${this.id}/control`
    const socket = new WebSocket(url, {
      ...this.#fleet.tls,
      headers: { authorization: `Bearer ${this.#token}` },
      handshakeTimeout: CONNECTS_WITHIN_MS,
    })
    this.#socket = socket
    socket.on('open', () => {
      socket.send(
        JSON.stringify({
          type: 'register',
          worker_id: this.id,
          automation_type: this.type,
          protocol_version: 1,
          hardware: { cores: 1, ram_gb: 1, hostname: 'outside', kernel: 'test' },
        }),
      )
      this.#ping()
    })
    socket.on('message', (data: Buffer) => this.#on(JSON.parse(data.toString()) as { type: string; id?: string }))
    socket.on('error', () => undefined) // The `close` event follows.
    socket.on('close', () => this.#onClose())
  }

  #on({ type, id = '' }: { readonly type: string; readonly id?: string }): void {
    if (type !== 'ping' || !id.startsWith('ping ')) return
    this.#answered = id
    if (this.#isIn) return
    this.#isIn = true
    this.#backoff.reset()
    if (this.#downSinceMs !== undefined)
      this.longestOutageMs = Math.max(this.longestOutageMs, performance.now() - this.#downSinceMs)
  }

  #onClose(): void {
    if (this.#isIn) {
      this.cuts += 1
      this.#downSinceMs = performance.now()
    }
    this.#isIn = false
    if (!this.#left) setTimeout(() => this.#left || this.#connect(), this.#backoff.nextMs())
  }
}

/** Many such workers, of a type that no other test uses. */
export class Swarm {
  readonly all: readonly OutsideSocket[]

  constructor(fleet: Public, size: number, token: string) {
    this.all = Array.from({ length: size }, (_, n) => new OutsideSocket(fleet, 'http-probe', `swarm-${n}`, token))
  }

  get allIn(): boolean {
    return this.all.every((each) => each.isIn)
  }

  get longestOutageMs(): number {
    return Math.max(...this.all.map((each) => each.longestOutageMs))
  }

  leave(): void {
    for (const each of this.all) each.leave()
  }
}
