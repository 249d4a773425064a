/**
 * @module master/queue/sweep
 * Sweeps the queues every 10 s, with jitter that distributes masters and types. Expired leases return to the queue or
 * move to the dead letters, due retries are promoted, expired idempotency keys are removed (D26, D28). Each type has
 * its own timer and loop, so that a slow type delays no other. Two masters sweep each queue, however many there are
 * (D193). Concurrent sweeps are harmless.
 */
import type { Cancel, Random, Timers } from '../../runtime/index.ts'
import { SWEEP_EVERY_MS } from '../../protocol/index.ts'
import type { SweepResult } from '../../storage/index.ts'

/** Share of the period by which it is shortened or lengthened. */
const JITTER = 0.1

export interface SweeperDeps {
  readonly timers: Timers
  readonly random: Random
  /** Whether this master sweeps the queue of the type. It is asked before each sweep. */
  readonly isMine: (type: string) => boolean
  /** Runs one step of the sweep. If the result has `more`, the next step follows immediately. */
  readonly step: (type: string) => Promise<SweepResult>
  readonly onSwept: (type: string, swept: SweepResult) => void
  readonly onFailed: (type: string, error: unknown) => void
}

export class Sweeper {
  readonly #deps: SweeperDeps
  readonly #cancels = new Map<string, Cancel>()
  readonly #running = new Set<Promise<void>>()
  #stopped = false

  constructor(deps: SweeperDeps) {
    this.#deps = deps
  }

  start(types: Iterable<string>): void {
    for (const type of types) this.#arm(type, SWEEP_EVERY_MS * this.#deps.random.unit())
  }

  /** Resolves when the current steps have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const cancel of this.#cancels.values()) cancel()
    await Promise.all(this.#running)
  }

  #arm(type: string, inMs: number): void {
    this.#cancels.set(
      type,
      this.#deps.timers.after(inMs, () => this.#begin(type)),
    )
  }

  #begin(type: string): void {
    const sweep = this.#sweep(type).finally(() => {
      this.#running.delete(sweep)
      if (!this.#stopped) this.#arm(type, SWEEP_EVERY_MS * (1 - JITTER + 2 * JITTER * this.#deps.random.unit()))
    })
    this.#running.add(sweep)
  }

  async #sweep(type: string): Promise<void> {
    if (!this.#deps.isMine(type)) return
    try {
      for (let more = true; more && !this.#stopped;) {
        const swept = await this.#deps.step(type)
        this.#deps.onSwept(type, swept)
        more = swept.more
      }
    } catch (error) {
      this.#deps.onFailed(type, error) // The next sweep continues.
    }
  }
}
