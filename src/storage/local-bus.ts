/**
 * @module storage/local-bus
 * The bus of the backends that serve one master. They declare `pubsub: false`: publishing does nothing and subscribers
 * hear nothing. Signals between masters loop back to the only one there is, after the call that sent them has returned,
 * so that a sender is never re-entered.
 */
import type { Bus, Signal } from './backend.ts'

export class LocalBus implements Bus {
  readonly #gate: () => void
  readonly #listeners = new Set<(signal: Signal) => void>()

  /** @param gate throws while the store is not open. */
  constructor(gate: () => void) {
    this.#gate = gate
  }

  async publish(): Promise<void> {
    this.#gate()
  }

  async subscribe(): Promise<() => void> {
    this.#gate()
    return () => undefined
  }

  async signal(_masterId: string, signal: Signal): Promise<void> {
    this.#gate()
    await Promise.resolve()
    for (const listener of this.#listeners) listener(signal)
  }

  onSignal(on: (signal: Signal) => void): () => void {
    const listener = (signal: Signal): void => on(signal)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
