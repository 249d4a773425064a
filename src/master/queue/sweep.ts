/**
 * @module master/queue/sweep
 * Every 10 s, with jitter so that masters and types spread out: leases whose deadline passed go back or to the dead
 * letters, due retries are promoted, expired idempotency keys forgotten (D26, D28). Each type has a timer and a loop of
 * its own, so that a slow one delays no other. Sweeps of two masters may overlap harmlessly.
 */
import type { Cancel, Random, Timers } from '../../runtime/index.ts'
import { SWEEP_EVERY_MS } from '../../protocol/index.ts'
import type { SweepResult } from '../../storage/index.ts'

/** Of the period, to either side. */
const JITTER = 0.1

export interface SweepPorts {
  readonly timers: Timers
  readonly random: Random
  /** One step of the sweep; `more` asks for the next at once. */
  readonly step: (type: string) => Promise<SweepResult>
  readonly onSwept: (type: string, swept: SweepResult) => void
  readonly onFailed: (type: string, error: unknown) => void
}

export class Sweeper {
  readonly #ports: SweepPorts
  readonly #cancels = new Map<string, Cancel>()
  readonly #running = new Set<Promise<void>>()
  #stopped = false

  constructor(ports: SweepPorts) {
    this.#ports = ports
  }

  start(types: Iterable<string>): void {
    for (const type of types) this.#arm(type, SWEEP_EVERY_MS * this.#ports.random.unit())
  }

  /** Resolves when the steps under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const cancel of this.#cancels.values()) cancel()
    await Promise.all(this.#running)
  }

  #arm(type: string, inMs: number): void {
    this.#cancels.set(
      type,
      this.#ports.timers.after(inMs, () => this.#begin(type)),
    )
  }

  #begin(type: string): void {
    const sweep = this.#sweep(type).finally(() => {
      this.#running.delete(sweep)
      if (!this.#stopped) this.#arm(type, SWEEP_EVERY_MS * (1 - JITTER + 2 * JITTER * this.#ports.random.unit()))
    })
    this.#running.add(sweep)
  }

  async #sweep(type: string): Promise<void> {
    try {
      for (let more = true; more && !this.#stopped;) {
        const swept = await this.#ports.step(type)
        this.#ports.onSwept(type, swept)
        more = swept.more
      }
    } catch (error) {
      this.#ports.onFailed(type, error) // The next round takes up what is left.
    }
  }
}
