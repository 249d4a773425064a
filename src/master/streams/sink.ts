/**
 * @module master/streams/sink
 * Where the outputs of connected workers go: the control channel hands over what it read, the streams store it.
 * Handing over never waits and never fails; {@link OutputSink.full} is how pressure travels back.
 */
import type { Output } from '../../protocol/index.ts'

export interface OutputSink {
  /**
   * Takes the outputs of one frame, in order. Those that do not match the type's output schema are dropped, counted
   * and logged once a minute per worker (D37).
   * @param exact the same outputs with their numbers as they were sent, which is what is stored (D75).
   */
  accept(type: string, workerId: string, outputs: readonly Output[], exact?: readonly Output[]): void
  /** Too much of this type (or of all together) waits for the store: stop reading the sockets that feed it. */
  full(type: string): boolean
  /** Calls `listener` whenever something that was full is so no more; ask `full` again. Answers how to stop. */
  onRelief(listener: () => void): () => void
}
