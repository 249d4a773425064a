/**
 * @module storage/memory/unique-keys
 * Maps each unique key to the last task that was queued with it (D118). An entry ends with its task.
 */
import { RECORD_OVERHEAD } from './memory-budget.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Task } from './task.ts'
import type { UniqueKey } from '../index.ts'

const sizeOf = (key: string): number => RECORD_OVERHEAD + key.length

export class UniqueKeys {
  readonly #budget: MemoryBudget
  readonly #tasks = new Map<string, Task>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** @returns the task with which a submit conflicts, and whether it is replaced; `null` if there is none. */
  conflict({ key, onConflict }: UniqueKey): { readonly task: Task; readonly isReplaced: boolean } | null {
    const task = this.#tasks.get(key)
    if (task === undefined) return null
    const isWaiting = task.place === 'pending' || task.place === 'scheduled'
    const isRunning = task.place === 'in_flight' && task.unique?.until === 'finished'
    return isWaiting || isRunning ? { task, isReplaced: isWaiting && onConflict === 'replace' } : null
  }

  /** Lets the key name another task. */
  record({ key, until }: UniqueKey, task: Task): void {
    const earlier = this.#tasks.get(key)
    if (earlier === undefined) this.#budget.add(sizeOf(key))
    else earlier.unique = null
    task.unique = { key, until }
    this.#tasks.set(key, task)
  }

  /** Forgets the key of a task that is not stored any more. */
  forget(task: Task): void {
    if (task.unique === null) return
    this.#tasks.delete(task.unique.key)
    this.#budget.add(-sizeOf(task.unique.key))
    task.unique = null
  }

  /** Forgets the keys of dead tasks, which were cleared together. */
  forgetDead(): void {
    for (const task of this.#tasks.values()) if (task.place === 'dead') this.forget(task)
  }
}
