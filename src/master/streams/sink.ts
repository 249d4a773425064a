/**
 * @module master/streams/sink
 * Defines the sink for outputs of connected workers. The control channel passes outputs to it, and the streams store
 * them. `accept` never waits and never fails; {@link OutputSink.full} applies back-pressure.
 */
import type { Output } from '../../protocol/index.ts'

export interface OutputSink {
  /**
   * Takes the outputs of one frame, in order. Outputs that do not match the type's output schema are dropped, counted
   * and logged once a minute per worker (D37).
   * @param exact The same outputs with their numbers as they were sent. This is what is stored (D75).
   */
  accept(type: string, workerId: string, outputs: readonly Output[], exact?: readonly Output[]): void
  /** Whether too many outputs of this type, or of all types, are waiting: stop reading the sockets of the type. */
  full(type: string): boolean
  /** Calls `listener` when a type is no longer full; check `full` again then. @returns a function that unsubscribes. */
  onRelief(listener: () => void): () => void
}
