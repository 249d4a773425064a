/**
 * @module master/control/heartbeat
 * Pings every peer every 20 s and terminates those that missed two pings (D12). A socket that the master has paused
 * cannot respond and is exempt. Pings are sent in slices, so that thousands of them do not block the event loop.
 */
import { CLOSE, PING_EVERY_MS, REGISTER_WITHIN_MS } from '../../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import type { Connection } from './connection.ts'
import { MAX_MISSED_PINGS, OVERDUE_EVERY_MS, PING_SLICE, PING_SLICE_EVERY_MS } from './limits.ts'
import type { Outbound } from './outbound.ts'

export interface HeartbeatDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly outbound: Outbound
  readonly connections: () => Iterable<Connection>
  /** Connections that have not registered, the oldest first. */
  readonly unregistered: ReadonlySet<Connection>
}

export class Heartbeat {
  readonly #deps: HeartbeatDeps
  #cancels: Cancel[] = []
  #cancelSlice: Cancel = () => {}

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
  }

  start(): void {
    const { timers } = this.#deps
    this.#cancels = [
      timers.every(PING_EVERY_MS, () => this.#round()),
      timers.every(OVERDUE_EVERY_MS, () => this.#sweep()),
    ]
  }

  stop(): void {
    for (const cancel of this.#cancels) cancel()
    this.#cancelSlice()
  }

  #round(): void {
    this.#slice([...this.#deps.connections()], 0)
  }

  #slice(connections: readonly Connection[], from: number): void {
    const next = from + PING_SLICE
    for (const connection of connections.slice(from, next)) this.#probe(connection)
    if (next < connections.length)
      this.#cancelSlice = this.#deps.timers.after(PING_SLICE_EVERY_MS, () => this.#slice(connections, next))
  }

  #probe(connection: Connection): void {
    if (connection.reading.isPaused) {
      connection.missedPings = 0
      return
    }
    if (connection.missedPings >= MAX_MISSED_PINGS) return connection.socket.terminate()
    connection.missedPings += 1
    this.#deps.outbound.probe(connection)
  }

  #sweep(): void {
    const dueMs = this.#deps.clock.monotonicMs() - REGISTER_WITHIN_MS
    for (const connection of this.#deps.unregistered) {
      if (connection.openedAtMs > dueMs) break
      connection.close(CLOSE.POLICY, `no register within ${REGISTER_WITHIN_MS / 1_000} s`)
    }
    this.#deps.outbound.sweep()
  }
}
