/**
 * @module storage/redis/waiting
 * Queues calls that arrive while the store is unavailable. They wait for up to 1.5 s, since most outages are short.
 * Calls beyond the bounds of the queue, or after that time, are rejected immediately and never sent.
 */
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import { unavailable } from './errors.ts'

/**
 * How long calls wait for the end of an outage, counted from its start, and for a response. A client whose call meets
 * an outage gets its error within the 2 s of G18.
 */
export const WAIT_MS = 1_500
const LANE_CALLS = 2_000
const LANE_BYTES = 8 * 1_048_576
const ALL_BYTES = 64 * 1_048_576

export interface Waiter {
  /** Calls of one script and hash tag share a lane. */
  readonly lane: string
  readonly bytes: number
}

interface WaitingEntry extends Waiter {
  readonly cancel: Cancel
  resolve(): void
  reject(error: unknown): void
}

interface Load {
  calls: number
  bytes: number
}

export class WaitQueue {
  readonly #time: Clock & Timers
  readonly #entries = new Set<WaitingEntry>()
  readonly #lanes = new Map<string, Load>()
  #bytes = 0

  constructor(time: Clock & Timers) {
    this.#time = time
  }

  /** Resolves when the caller should try again; rejects when the outage has lasted too long. */
  wait({ lane, bytes }: Waiter, unavailableSinceMs: number, why: () => string): Promise<void> {
    const leftMs = unavailableSinceMs + WAIT_MS - this.#time.monotonicMs()
    const load = this.#lanes.get(lane) ?? { calls: 0, bytes: 0 }
    const isFull = load.calls >= LANE_CALLS || load.bytes + bytes > LANE_BYTES || this.#bytes + bytes > ALL_BYTES
    if (leftMs <= 0 || isFull) return Promise.reject(unavailable(why(), 'not_sent'))
    return new Promise((resolve, reject) => {
      const leave = (): void => this.#leave(entry)
      const entry: WaitingEntry = {
        lane,
        bytes,
        resolve,
        reject,
        cancel: this.#time.after(leftMs, () => {
          leave()
          reject(unavailable(why(), 'not_sent'))
        }),
      }
      this.#entries.add(entry)
      this.#lanes.set(lane, load)
      load.calls += 1
      load.bytes += bytes
      this.#bytes += bytes
    })
  }

  /** Lets all waiting calls try again, in the order of arrival. */
  wake(): void {
    for (const entry of this.#entries) {
      this.#leave(entry)
      entry.resolve()
    }
  }

  #leave(entry: WaitingEntry): void {
    entry.cancel()
    this.#entries.delete(entry)
    this.#bytes -= entry.bytes
    const load = this.#lanes.get(entry.lane)
    if (load === undefined) return
    load.calls -= 1
    load.bytes -= entry.bytes
    if (load.calls === 0) this.#lanes.delete(entry.lane)
  }
}
