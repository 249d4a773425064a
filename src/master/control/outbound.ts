/**
 * @module master/control/outbound
 * Sends frames to workers and limits what an unread socket may buffer. Above the soft limit only the newest
 * `config_changed` and a `drain` are kept, and sent when the peer reads again. Above the hard limit, or after 30 s
 * without progress, the socket is terminated.
 */
import type { MasterFrame } from '../../protocol/index.ts'
import { SOCKET_OPEN, type Clock } from '../../runtime/index.ts'
import type { LeaseRef } from '../../storage/index.ts'
import type { Connection } from './connection.ts'
import type { LogQuery } from './log-reads.ts'
import { HARD_BUFFER_BYTES, SOFT_BUFFER_BYTES, STUCK_MS } from './limits.ts'

const DRAIN_FRAME = JSON.stringify({ type: 'drain' } satisfies MasterFrame)

export class Outbound {
  readonly #clock: Clock
  /** Peers with unread bytes. */
  readonly #behind = new Set<Connection>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Responds to a worker's ping. Skipped for a peer that does not read. */
  pong(connection: Connection, id: string): void {
    if (connection.socket.bufferedAmount <= SOFT_BUFFER_BYTES)
      this.#send(connection, JSON.stringify({ type: 'ping', id } satisfies MasterFrame))
  }

  configChanged(connection: Connection, gen: number): void {
    connection.outbound.holdConfigChanged(gen)
    this.#release(connection)
  }

  drain(connection: Connection): void {
    connection.outbound.holdDrain()
    this.#release(connection)
  }

  /**
   * Names leases that a cancel has ended, to a worker that knows the frame. Skipped for a peer that does not read: its
   * next extend ends the runs.
   */
  cancelled(connection: Connection, leases: readonly LeaseRef[]): void {
    if (!connection.features.has('cancel') || connection.socket.bufferedAmount > SOFT_BUFFER_BYTES) return
    for (const { id, token } of leases)
      this.#send(connection, JSON.stringify({ type: 'task_cancelled', task_id: id, token } satisfies MasterFrame))
  }

  /** Requests log entries. @returns false for a peer that does not read. */
  readLogs(connection: Connection, id: string, query: LogQuery): boolean {
    if (connection.socket.bufferedAmount > SOFT_BUFFER_BYTES) return false
    this.#send(connection, JSON.stringify({ type: 'read_logs', id, ...query } satisfies MasterFrame))
    return true
  }

  /** Sends a WebSocket ping (RFC 6455). Its pong shows that the peer is alive. */
  probe(connection: Connection): void {
    if (connection.socket.readyState !== SOCKET_OPEN) return
    connection.socket.ping()
    this.#watch(connection)
  }

  /** Checks the peers with unread bytes. To be called every second. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const connection of this.#behind) {
      const bytes = connection.socket.bufferedAmount
      const stuckMs = connection.outbound.stuckForMs(bytes, nowMs)
      if (bytes > HARD_BUFFER_BYTES || (bytes > 0 && stuckMs >= STUCK_MS)) connection.socket.terminate()
      else if (bytes === 0) this.#behind.delete(connection)
      this.#release(connection)
    }
  }

  forget(connection: Connection): void {
    this.#behind.delete(connection)
  }

  /** Sends the frames that were held back, if the peer reads. */
  #release(connection: Connection): void {
    if (connection.socket.bufferedAmount > SOFT_BUFFER_BYTES) return
    const { gen, isDrain } = connection.outbound.takeHeld()
    if (gen !== null)
      this.#send(connection, JSON.stringify({ type: 'config_changed', config_gen: gen } satisfies MasterFrame))
    if (isDrain) this.#send(connection, DRAIN_FRAME)
  }

  #send(connection: Connection, text: string): void {
    if (connection.socket.readyState !== SOCKET_OPEN) return
    connection.socket.send(text)
    this.#watch(connection)
  }

  #watch(connection: Connection): void {
    const bytes = connection.socket.bufferedAmount
    if (bytes === 0 || this.#behind.has(connection)) return
    connection.outbound.startProgress(bytes, this.#clock.monotonicMs())
    this.#behind.add(connection)
  }
}
