/**
 * @module storage/memory/retained-outcomes
 * Keeps the outcomes of the retained tasks of one automation type until they expire (D110). Beyond the bounds, the one
 * nearest to its expiry is evicted first. When only the space
 * that is reserved for tasks is left, no outcome is kept (D83).
 */
import { MAX_OUTCOME_BYTES } from '../../protocol/index.ts'
import { attemptsOf, outcomeBytes, retainedUntil } from '../index.ts'
import type { EndOfTask, Outcome } from '../index.ts'
import { TimerQueue, type Timer } from './timer-queue.ts'
import type { Store } from './store.ts'
import type { Task } from './task.ts'

interface Kept {
  readonly outcome: Outcome
  readonly bytes: number
  readonly expiry: Timer<string>
}

export class RetainedOutcomes {
  readonly #store: Store
  readonly #kept = new Map<string, Kept>()
  readonly #expiries = new TimerQueue<string>()
  #bytes = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** The outcome of this task, if it has not expired. */
  find(id: string): Outcome | undefined {
    const outcome = this.#kept.get(id)?.outcome
    return outcome !== undefined && outcome.retainedUntilMs > this.#store.now() ? outcome : undefined
  }

  /** Keeps the outcome of a task that ends now, if the task is retained. */
  keep(task: Task, end: EndOfTask, maxOutcomes: number): void {
    const finishedAtMs = this.#store.now()
    const retainedUntilMs = retainedUntil(task.retainMs, finishedAtMs)
    if (retainedUntilMs === null || maxOutcomes === 0 || !this.#store.safeguards.outcomes) return
    const attempts = attemptsOf(task.attempts)
    const bytes = outcomeBytes(task.id, { ...end, ...attempts })
    if (!this.#store.budget.fitsOptional(bytes)) return
    this.#remove(task.id)
    const outcome = { ...end, finishedAtMs, retainedUntilMs, attempt: task.attempt, ...attempts }
    this.#kept.set(task.id, { outcome, bytes, expiry: this.#expiries.add(retainedUntilMs, task.id) })
    this.#count(bytes)
    while (this.#kept.size > maxOutcomes || this.#bytes > MAX_OUTCOME_BYTES) this.forget(1, Infinity)
  }

  /** Removes outcomes that have expired at `nowMs`, at most `limit`, the earliest first. */
  forget(limit: number, nowMs: number): void {
    for (let forgotten = 0; forgotten < limit; forgotten += 1) {
      const id = this.#expiries.takeDue(nowMs)
      if (id === null) return
      this.#remove(id)
    }
  }

  hasExpired(nowMs: number): boolean {
    return (this.#expiries.next() ?? Infinity) <= nowMs
  }

  #remove(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    this.#kept.delete(id)
    this.#expiries.cancel(kept.expiry)
    this.#count(-kept.bytes)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#store.budget.add(bytes)
  }
}
