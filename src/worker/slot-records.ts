/**
 * @module worker/slot-records
 * Keeps what the slots of a worker report: their metrics, their tasks, and which of them failed in their last run.
 */
import { SlotMetrics, type SlotDeps, type TaskSource } from '../automation/index.ts'
import type { SlotStats } from '../protocol/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { ActiveErrors } from './active-errors.ts'

const secondsOf = (ms: number): number => Math.round(ms) / 1_000

interface SlotAge {
  readonly slotId: number
  readonly ageMs: number
}

interface RunningTask {
  readonly id: string
  readonly startedAtMs: number
}

export class SlotRecords {
  readonly #errors: ActiveErrors
  readonly #failing = new Set<number>()
  readonly #metrics: SlotMetrics
  readonly #clock: Clock
  readonly #tasks = new Map<number, RunningTask>()

  constructor(clock: Clock, log: SlotDeps['log'], errors: ActiveErrors) {
    this.#clock = clock
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

  /** Wraps the source of a slot, to know which task it runs. */
  watch(slotId: number, source: TaskSource): TaskSource {
    return {
      take: async (stopping) => {
        this.#tasks.delete(slotId)
        const lease = await source.take(stopping)
        if (lease !== null) this.#tasks.set(slotId, { id: lease.id, startedAtMs: this.#clock.monotonicMs() })
        return lease
      },
    }
  }

  /** Removes the error, the task and the metrics of a slot that ended. */
  forget(slotId: number): void {
    this.setError(slotId, null)
    this.#tasks.delete(slotId)
    this.#metrics.forget(slotId)
  }

  metricsOf(slotId: number): ReturnType<SlotMetrics['of']> {
    return this.#metrics.of(slotId)
  }

  /** @returns the metrics of all slots, with the outputs that the buffer evicted if there are any. */
  metrics(evictedOutputs: number): Readonly<Record<string, number>> {
    return { ...this.#metrics.snapshot(), ...(evictedOutputs > 0 && { 'counter.outputs_evicted': evictedOutputs }) }
  }

  /**
   * @param canNameTasks Whether the master reads the tasks of slots (D196).
   * @returns age, counters and task of each slot, for a statistics frame.
   */
  perSlot(ages: readonly SlotAge[], canNameTasks: boolean): SlotStats[] {
    return ages.map(({ slotId, ageMs }) => ({
      slot_id: slotId,
      age_seconds: secondsOf(ageMs),
      counters: this.#metrics.countersOf(slotId),
      ...(canNameTasks && this.#taskOf(slotId)),
    }))
  }

  #taskOf(slotId: number): Pick<SlotStats, 'task_id' | 'task_seconds'> {
    const task = this.#tasks.get(slotId)
    if (task === undefined) return {}
    return { task_id: task.id, task_seconds: secondsOf(this.#clock.monotonicMs() - task.startedAtMs) }
  }
}
