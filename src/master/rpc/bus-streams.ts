/**
 * @module master/rpc/bus-streams
 * Counts the open bus streams, in total and per worker id, so that one worker cannot use the places of another (D71).
 */
import { FleetError, MAX_BUS_STREAMS, MAX_BUS_STREAMS_PER_WORKER } from '../../protocol/index.ts'

const RETRY_SECONDS = 5

export class BusStreams {
  readonly #byWorker = new Map<string, number>()
  #open = 0

  /** @param worker Type and id as one string. @throws {FleetError} OVERLOADED if no further stream may be opened. */
  check(worker: string): void {
    if (this.#open >= MAX_BUS_STREAMS)
      throw full(`this master already serves ${MAX_BUS_STREAMS} bus streams, its limit`)
    if ((this.#byWorker.get(worker) ?? 0) >= MAX_BUS_STREAMS_PER_WORKER)
      throw full(`this worker id already has ${MAX_BUS_STREAMS_PER_WORKER} bus streams, its limit`)
  }

  /** Runs a stream and counts it as open. */
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
