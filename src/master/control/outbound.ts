/**
 * @module master/control/outbound
 * What the master says to workers, with an eye on what they read. A peer that stops reading costs at most the hard
 * bound: above the soft one only the newest `config_changed` and a `drain` are kept for it, to be sent when it reads
 * again; above the hard one, or unmoved for 30 s, it is cut off.
 */
import { WebSocket } from 'ws'
import type { MasterFrame } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Connection } from './connection.ts'
import { HARD_BUFFER_BYTES, SOFT_BUFFER_BYTES, STUCK_MS } from './limits.ts'

const DRAIN_FRAME = JSON.stringify({ type: 'drain' } satisfies MasterFrame)

export class Outbound {
  readonly #clock: Clock
  /** Peers with bytes they have not read. */
  readonly #behind = new Set<Connection>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The answer to a worker's ping; left out for a peer that does not read. */
  pong(connection: Connection, id: string): void {
    if (connection.socket.bufferedAmount <= SOFT_BUFFER_BYTES)
      this.#send(connection, JSON.stringify({ type: 'ping', id } satisfies MasterFrame))
  }

  configChanged(connection: Connection, gen: number): void {
    connection.knownGen = Math.max(connection.knownGen, gen)
    connection.heldGen = gen
    this.#release(connection)
  }

  drain(connection: Connection): void {
    connection.isDrainSent = true
    connection.heldDrain = true
    this.#release(connection)
  }

  /** A ping of the protocol itself (RFC 6455); its pong shows that the peer lives. */
  probe(connection: Connection): void {
    if (connection.socket.readyState !== WebSocket.OPEN) return
    connection.socket.ping()
    this.#watch(connection)
  }

  /** Looks at the peers that are behind: to be called every second. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const connection of this.#behind) {
      const bytes = connection.socket.bufferedAmount
      if (bytes < connection.stuckBytes) connection.stuckSinceMs = nowMs
      connection.stuckBytes = bytes
      if (bytes > HARD_BUFFER_BYTES || (bytes > 0 && nowMs - connection.stuckSinceMs >= STUCK_MS))
        connection.socket.terminate()
      else if (bytes === 0) this.#behind.delete(connection)
      this.#release(connection)
    }
  }

  forget(connection: Connection): void {
    this.#behind.delete(connection)
  }

  /** Sends what is held, as far as the peer reads. */
  #release(connection: Connection): void {
    if (connection.socket.bufferedAmount > SOFT_BUFFER_BYTES) return
    const { heldGen, heldDrain } = connection
    connection.heldGen = null
    connection.heldDrain = false
    if (heldGen !== null)
      this.#send(connection, JSON.stringify({ type: 'config_changed', config_gen: heldGen } satisfies MasterFrame))
    if (heldDrain) this.#send(connection, DRAIN_FRAME)
  }

  #send(connection: Connection, text: string): void {
    if (connection.socket.readyState !== WebSocket.OPEN) return
    connection.socket.send(text)
    this.#watch(connection)
  }

  #watch(connection: Connection): void {
    const bytes = connection.socket.bufferedAmount
    if (bytes === 0 || this.#behind.has(connection)) return
    connection.stuckBytes = bytes
    connection.stuckSinceMs = this.#clock.monotonicMs()
    this.#behind.add(connection)
  }
}
