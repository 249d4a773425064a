/**
 * @module storage/local-bus
 * Implements the bus of the backends that serve only one master (memory and SQLite). They declare `pubsub: false`:
 * publishing does nothing, and subscribers receive nothing. Signals go to the listeners of this process. They are
 * delivered after the call that sent them has returned, so that a sender is never re-entered.
 */
import type { Bus, MasterSignal } from './backend.ts'

export class LocalBus implements Bus {
  readonly #gate: () => void
  readonly #listeners = new Set<(signal: MasterSignal) => void>()

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

  async signal(_masterId: string, ...signals: readonly MasterSignal[]): Promise<void> {
    this.#gate()
    await Promise.resolve()
    for (const signal of signals) for (const listener of this.#listeners) listener(signal)
  }

  async passWake(): Promise<void> {
    this.#gate()
  }

  onSignal(on: (signal: MasterSignal) => void): () => void {
    const listener = (signal: MasterSignal): void => on(signal)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
