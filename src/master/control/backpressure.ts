/**
 * @module master/control/backpressure
 * Reads no faster than the store takes: pauses the sockets that feed what is full, and reads on at half. Nothing is
 * dropped here; the worker's own buffer fills instead, and is bounded there.
 */
import type { OutputSink } from '../streams/sink.ts'
import { PAUSE, type Connection } from './connection.ts'
import { MAX_UNFLUSHED_BYTES, MAX_UNFLUSHED_TOTAL_BYTES } from './limits.ts'

export class Backpressure {
  readonly #sink: OutputSink
  readonly #paused = new Set<Connection>()
  #unflushedBytes = 0

  constructor(sink: OutputSink) {
    this.#sink = sink
  }

  /** Outputs of this connection went to the sink. */
  onOutput(connection: Connection): void {
    if (this.#sink.full(connection.type)) this.#pause(connection, PAUSE.sink)
  }

  /** The sink has room again, at least for some type. */
  onDrain(): void {
    for (const connection of this.#paused) {
      if (!this.#sink.full(connection.type)) this.#resume(connection, PAUSE.sink)
    }
  }

  /** Statistics were read and wait for the store. */
  addUnflushed(connection: Connection, bytes: number): void {
    connection.unflushedBytes += bytes
    this.#unflushedBytes += bytes
    if (connection.unflushedBytes > MAX_UNFLUSHED_BYTES || this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES)
      this.#pause(connection, PAUSE.unflushed)
  }

  /** The store took them, or they were given up. */
  removeUnflushed(connection: Connection, bytes: number): void {
    const crowdedBefore = this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES / 2
    connection.unflushedBytes -= bytes
    this.#unflushedBytes -= bytes
    if (this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES / 2) return
    const relieved = crowdedBefore ? this.#paused : [connection]
    for (const each of relieved) {
      if (each.unflushedBytes <= MAX_UNFLUSHED_BYTES / 2) this.#resume(each, PAUSE.unflushed)
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
    if ((connection.pausedFor & (PAUSE.sink | PAUSE.unflushed)) === 0) this.#paused.delete(connection)
  }
}
