/**
 * Submits tasks of the type `echo` with unique IDs until it is stopped. A submit without a response is not repeated.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** Pause between two submits of one submitter: the test is about faults and not about throughput. */
const PAUSE_MS = 20
const SUBMITTERS = 4

export interface EchoTask {
  readonly task_id: string
  readonly payload: { readonly ms: number }
}
interface Fleet {
  /** Resolves with whether the fleet acknowledged the task; rejects if it is not reachable. */
  submit(task: EchoTask): Promise<boolean>
}

export class Load {
  readonly acknowledged: string[] = []
  /** Longest time without an acknowledgement. */
  longestPauseMs = 0
  readonly #ended = new AbortController()
  readonly #all: readonly Promise<void>[]
  #lastMs = performance.now()

  /** @param ms duration of each task. */
  constructor(fleet: Fleet, name: string, ms = 5) {
    this.#all = Array.from({ length: SUBMITTERS }, (_, submitter) => this.#submit(fleet, `${name}-${submitter}`, ms))
  }

  async end(): Promise<void> {
    this.#ended.abort()
    await Promise.all(this.#all)
  }

  async #submit(fleet: Fleet, name: string, ms: number): Promise<void> {
    for (let n = 0; !this.#ended.signal.aborted; n += 1) {
      const id = `${name}-${n}`
      if (await fleet.submit({ task_id: id, payload: { ms } }).catch(() => false)) {
        this.acknowledged.push(id)
        this.longestPauseMs = Math.max(this.longestPauseMs, performance.now() - this.#lastMs)
        this.#lastMs = performance.now()
      }
      await pause(PAUSE_MS)
    }
  }
}
