/**
 * @module master/control/backpressure
 * Applies back-pressure: pauses reading from sockets while a buffer that they fill is full, and resumes at half.
 * Nothing is dropped here. The worker's own buffer fills instead, and has its own limit.
 */
import type { OutputSink } from '../streams/index.ts'
import type { Connection } from './connection.ts'
import { PAUSE } from './connection-state.ts'
import { MAX_UNFLUSHED_BYTES, MAX_UNFLUSHED_TOTAL_BYTES } from './limits.ts'

export class Backpressure {
  readonly #sink: OutputSink
  readonly #paused = new Set<Connection>()
  #unflushedBytes = 0

  constructor(sink: OutputSink) {
    this.#sink = sink
  }

  /** To be called after outputs of this connection were passed to the sink. */
  onOutput(connection: Connection): void {
    if (this.#sink.full(connection.type)) this.#pause(connection, PAUSE.sink)
  }

  /** To be called when the sink can take outputs again, for at least one type. */
  onDrain(): void {
    for (const connection of this.#paused) {
      if (!this.#sink.full(connection.type)) this.#resume(connection, PAUSE.sink)
    }
  }

  /** Statistics were read and are waiting to be stored. */
  addUnflushed(connection: Connection, bytes: number): void {
    connection.reading.unflushedBytes += bytes
    this.#unflushedBytes += bytes
    if (connection.reading.unflushedBytes > MAX_UNFLUSHED_BYTES || this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES)
      this.#pause(connection, PAUSE.unflushed)
  }

  /** Statistics were stored or discarded. */
  removeUnflushed(connection: Connection, bytes: number): void {
    const crowdedBefore = this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES / 2
    connection.reading.unflushedBytes -= bytes
    this.#unflushedBytes -= bytes
    if (this.#unflushedBytes > MAX_UNFLUSHED_TOTAL_BYTES / 2) return
    const relieved = crowdedBefore ? this.#paused : [connection]
    for (const each of relieved) {
      if (each.reading.unflushedBytes <= MAX_UNFLUSHED_BYTES / 2) this.#resume(each, PAUSE.unflushed)
    }
  }

  forget(connection: Connection): void {
    this.#paused.delete(connection)
  }

  #pause(connection: Connection, reason: number): void {
    connection.pause(reason)
    if (connection.reading.isPaused) this.#paused.add(connection)
  }

  #resume(connection: Connection, reason: number): void {
    connection.reading.remove(reason)
    if (!connection.reading.isPausedFor(PAUSE.sink | PAUSE.unflushed)) this.#paused.delete(connection)
  }
}
