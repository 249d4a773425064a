/**
 * @module master/queue/task-waits
 * Holds the long polls of clients that wait for the end of tasks (D111). A wait is registered before its first read, so
 * an end between both is not missed:
 *
 *   register ─▶ read ─▶ nothing has finished ─▶ wait ─▶ a task finished, or the time is over ─▶ read ─▶ …
 *
 * A wait is woken by the settles of this master, by the messages of others about retained tasks, and by a check of all
 * waiting tasks once a second. So a lost message costs a second, and each end is found. An abort returns the last read.
 *
 * At most 20,000 tasks wait in total; above it, a wait is rejected (G17).
 */
import { FleetError, MAX_WAITING_TASKS } from '../../protocol/index.ts'
import { Signal, type Clock, type Timers } from '../../runtime/index.ts'
import type { TaskPlace, TaskState } from '../../storage/index.ts'

type States = readonly (TaskState | null)[]

export interface TaskWaitsDeps {
  readonly clock: Clock
  readonly timers: Timers
  /** Reads the states of tasks in one or more steps. The list may end early, because of its size. */
  readonly describe: (type: string, ids: readonly string[]) => Promise<States>
  /** Finds tasks. */
  readonly locate: (type: string, ids: readonly string[]) => Promise<readonly (TaskPlace | null)[]>
  readonly onCheckFailed: (error: unknown) => void
}

export class TaskWaits {
  readonly #deps: TaskWaitsDeps
  /** By automation type and task id. */
  readonly #waits = new Map<string, Map<string, Set<Signal>>>()
  #waiting = 0
  #isChecking = false

  constructor(deps: TaskWaitsDeps) {
    this.#deps = deps
  }

  /** Number of tasks that waits are for; a task counts once for each wait. */
  get size(): number {
    return this.#waiting
  }

  /**
   * Waits until one of the tasks has finished or is unknown, at most `waitMs`.
   * @returns their states at the end, as `describe` returns them.
   * @throws {FleetError} OVERLOADED if too many tasks wait; or the error of the store.
   */
  async wait(type: string, ids: readonly string[], waitMs: number, signal: AbortSignal): Promise<States> {
    if (waitMs <= 0) return this.#deps.describe(type, ids)
    const { clock, timers } = this.#deps
    const woken = new Signal(timers)
    const leave = this.#enter(type, new Set(ids), woken)
    try {
      const endsAtMs = clock.monotonicMs() + waitMs
      for (;;) {
        // Begins before the read: a task that finishes meanwhile may be missing in what is read.
        const wake = woken.wait(signal, endsAtMs - clock.monotonicMs())
        const states = await this.#deps.describe(type, ids)
        const isOver = signal.aborted || clock.monotonicMs() >= endsAtMs
        if (isOver || states.some(hasFinished)) return states
        await wake
        if (signal.aborted) return states
      }
    } finally {
      leave()
      woken.notify() // Ends the timer.
    }
  }

  /** Wakes those that wait for one of these tasks. */
  finished(type: string, ids: Iterable<string>): void {
    const waits = this.#waits.get(type)
    if (waits === undefined) return
    for (const id of ids) for (const woken of waits.get(id) ?? []) woken.notify()
  }

  /** Looks for waiting tasks that have finished without a message. */
  async check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      for (const [type, waits] of this.#waits) await this.#checkType(type, [...waits.keys()])
    } catch (error) {
      this.#deps.onCheckFailed(error) // The next check follows in a second.
    } finally {
      this.#isChecking = false
    }
  }

  async #checkType(type: string, ids: readonly string[]): Promise<void> {
    const places = await this.#deps.locate(type, ids)
    this.finished(
      type,
      ids.filter((_, at) => (places[at] ?? null) === null || places[at] === 'dead'),
    )
  }

  /** @returns a function that ends the wait. */
  #enter(type: string, ids: ReadonlySet<string>, woken: Signal): () => void {
    if (this.#waiting + ids.size > MAX_WAITING_TASKS)
      throw new FleetError('OVERLOADED', 'too many tasks are waited for on this master; try again', {
        retryAfterSeconds: 1,
      })
    this.#waiting += ids.size
    const waits = this.#waits.get(type) ?? new Map<string, Set<Signal>>()
    this.#waits.set(type, waits)
    for (const id of ids) waits.set(id, (waits.get(id) ?? new Set()).add(woken))
    return () => {
      this.#waiting -= ids.size
      for (const id of ids) {
        const waiting = waits.get(id)
        waiting?.delete(woken)
        if (waiting?.size === 0) waits.delete(id)
      }
      if (waits.size === 0 && this.#waits.get(type) === waits) this.#waits.delete(type)
    }
  }
}

/** Whether a wait for this task ends: it has finished, or is unknown. */
function hasFinished(state: TaskState | null): boolean {
  return state === null || state.kind !== 'stored'
}
