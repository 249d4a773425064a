/**
 * @module master/control/pressure
 * Reads no faster than the store takes: pauses the sockets that feed what is full, and reads on at half. Nothing is
 * dropped here; the worker's own buffer fills instead, and is bounded there.
 */
import type { OutputSink } from '../streams/sink.ts'
import { PAUSE, type Connection } from './connection.ts'
import { MAX_UNTAKEN_BYTES, MAX_UNTAKEN_TOTAL_BYTES } from './limits.ts'

export class Pressure {
  readonly #sink: OutputSink
  readonly #paused = new Set<Connection>()
  #untakenBytes = 0

  constructor(sink: OutputSink) {
    this.#sink = sink
  }

  /** Outputs of this connection went to the sink. */
  fed(connection: Connection): void {
    if (this.#sink.full(connection.type)) this.#pause(connection, PAUSE.sink)
  }

  /** The sink has room again, at least for some type. */
  relieved(): void {
    for (const connection of this.#paused) {
      if (!this.#sink.full(connection.type)) this.#resume(connection, PAUSE.sink)
    }
  }

  /** Statistics were read and wait for the store. */
  untaken(connection: Connection, bytes: number): void {
    connection.untakenBytes += bytes
    this.#untakenBytes += bytes
    if (connection.untakenBytes > MAX_UNTAKEN_BYTES || this.#untakenBytes > MAX_UNTAKEN_TOTAL_BYTES)
      this.#pause(connection, PAUSE.untaken)
  }

  /** The store took them, or they were given up. */
  taken(connection: Connection, bytes: number): void {
    const crowdedBefore = this.#untakenBytes > MAX_UNTAKEN_TOTAL_BYTES / 2
    connection.untakenBytes -= bytes
    this.#untakenBytes -= bytes
    if (this.#untakenBytes > MAX_UNTAKEN_TOTAL_BYTES / 2) return
    const relieved = crowdedBefore ? this.#paused : [connection]
    for (const each of relieved) {
      if (each.untakenBytes <= MAX_UNTAKEN_BYTES / 2) this.#resume(each, PAUSE.untaken)
    }
  }

  forget(connection: Connection): void {
    this.#paused.delete(connection)
  }

  #pause(connection: Connection, reason: number): void {
    connection.pause(reason)
    if (connection.pausedFor !== 0) this.#paused.add(connection)
  }

  #resume(connection: Connection, reason: number): void {
    connection.resume(reason)
    if ((connection.pausedFor & (PAUSE.sink | PAUSE.untaken)) === 0) this.#paused.delete(connection)
  }
}
