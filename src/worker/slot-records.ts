/**
 * @module worker/slot-records
 * Keeps what the slots of a worker report: their metrics, and which of them failed in their last run.
 */
import { SlotMetrics, type SlotDeps } from '../automation/index.ts'
import type { SlotStats } from '../protocol/index.ts'
import type { ActiveErrors } from './active-errors.ts'

interface SlotAge {
  readonly slotId: number
  readonly ageMs: number
}

export class SlotRecords {
  readonly #errors: ActiveErrors
  readonly #failing = new Set<number>()
  readonly #metrics: SlotMetrics

  constructor(log: SlotDeps['log'], errors: ActiveErrors) {
    this.#errors = errors
    this.#metrics = new SlotMetrics(log)
  }

  /** How many slots failed in their last run. */
  get failing(): number {
    return this.#failing.size
  }

  /** @param message null when the last run of the slot succeeded. */
  setError(slotId: number, message: string | null): void {
    if (message === null) this.#failing.delete(slotId)
    else this.#failing.add(slotId)
    this.#errors.set(`slot ${slotId}`, message)
  }

  /** Removes the error and the metrics of a slot that ended. */
  forget(slotId: number): void {
    this.setError(slotId, null)
    this.#metrics.forget(slotId)
  }

  metricsOf(slotId: number): ReturnType<SlotMetrics['of']> {
    return this.#metrics.of(slotId)
  }

  /** @returns the metrics of all slots, with the outputs that the buffer evicted if there are any. */
  metrics(evictedOutputs: number): Readonly<Record<string, number>> {
    return { ...this.#metrics.snapshot(), ...(evictedOutputs > 0 && { 'counter.outputs_evicted': evictedOutputs }) }
  }

  /** @returns age and counters of each slot, for a statistics frame. */
  perSlot(ages: readonly SlotAge[]): SlotStats[] {
    return ages.map(({ slotId, ageMs }) => ({
      slot_id: slotId,
      age_seconds: Math.round(ageMs) / 1_000,
      counters: this.#metrics.countersOf(slotId),
    }))
  }
}
