/**
 * @module storage/redis/waiting
 * Calls that arrive while the store is away. They wait a moment, since most absences are short, and within bounds; what
 * comes beyond the bounds, or after the moment, is refused at once, unsent.
 */
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import { unavailable } from './errors.ts'

/**
 * How long an absence is waited out, from its beginning, and how long an answer is waited for: whoever asked while the
 * store went away is told so within this time, and reads it within the 2 s that G18 promises.
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

interface Entry extends Waiter {
  readonly cancel: Cancel
  resolve(): void
  reject(error: unknown): void
}

interface Load {
  calls: number
  bytes: number
}

export class WaitingRoom {
  readonly #time: Clock & Timers
  readonly #entries = new Set<Entry>()
  readonly #lanes = new Map<string, Load>()
  #bytes = 0

  constructor(time: Clock & Timers) {
    this.#time = time
  }

  /** Resolves when something changed, to look again; rejects when the absence has lasted too long. */
  wait({ lane, bytes }: Waiter, awaySinceMs: number, why: () => string): Promise<void> {
    const leftMs = awaySinceMs + WAIT_MS - this.#time.monotonicMs()
    const load = this.#lanes.get(lane) ?? { calls: 0, bytes: 0 }
    const isFull = load.calls >= LANE_CALLS || load.bytes + bytes > LANE_BYTES || this.#bytes + bytes > ALL_BYTES
    if (leftMs <= 0 || isFull) return Promise.reject(unavailable(why(), 'not_sent'))
    return new Promise((resolve, reject) => {
      const leave = (): void => this.#leave(entry)
      const entry: Entry = {
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

  /** Everybody looks again, in the order of arrival. */
  wake(): void {
    for (const entry of this.#entries) {
      this.#leave(entry)
      entry.resolve()
    }
  }

  #leave(entry: Entry): void {
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
