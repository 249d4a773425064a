/**
 * @module master/rpc/bus-streams
 * Counts the open bus streams, in all and for each worker id, so that one worker takes no place of another (D71).
 */
import { FleetError, MAX_BUS_STREAMS, MAX_BUS_STREAMS_PER_WORKER } from '../../protocol/index.ts'

const RETRY_SECONDS = 5

export class BusStreams {
  readonly #byWorker = new Map<string, number>()
  #open = 0

  /** @param worker type and id as one string. @throws {FleetError} OVERLOADED when there is no place for one more. */
  check(worker: string): void {
    if (this.#open >= MAX_BUS_STREAMS)
      throw full(`this master already serves ${MAX_BUS_STREAMS} bus streams, its limit`)
    if ((this.#byWorker.get(worker) ?? 0) >= MAX_BUS_STREAMS_PER_WORKER)
      throw full(`this worker id already has ${MAX_BUS_STREAMS_PER_WORKER} bus streams, its limit`)
  }

  /** Runs a stream as one of those that are open. */
  async count(worker: string, run: () => Promise<void>): Promise<void> {
    this.#add(worker, 1)
    try {
      await run()
    } finally {
      this.#add(worker, -1)
    }
  }

  #add(worker: string, n: 1 | -1): void {
    const streams = (this.#byWorker.get(worker) ?? 0) + n
    if (streams === 0) this.#byWorker.delete(worker)
    else this.#byWorker.set(worker, streams)
    this.#open += n
  }
}

const full = (problem: string): FleetError =>
  new FleetError('OVERLOADED', `${problem} already; try again`, { retryAfterSeconds: RETRY_SECONDS })
