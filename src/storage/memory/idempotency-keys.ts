/**
 * @module storage/memory/idempotency-keys
 * Maps idempotency keys to the tasks that were submitted under them, until the window of the key ends. The windows of
 * one type usually have one length, so the oldest ends first and is removed from the front. Each window still has its
 * own end.
 */
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { Ring } from './ring.ts'
import type { MemoryBudget } from './memory-budget.ts'

interface Window {
  readonly key: string
  readonly id: string
  readonly ends: number
}

export class IdempotencyKeys {
  readonly #budget: MemoryBudget
  readonly #windows = new Map<string, Window>()
  readonly #inOrder = new Ring<Window>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** The first task of that key, also if it is not stored any more. */
  find(key: string, now: number): string | undefined {
    const window = this.#windows.get(key)
    return window !== undefined && window.ends > now ? window.id : undefined
  }

  record(key: string, id: string, ends: number): void {
    const window = { key, id, ends }
    this.#windows.set(key, window)
    this.#inOrder.push(window)
    this.#budget.add(charsOf(window))
  }

  /** Removes ended windows, at most `limit`. A window that was renewed meanwhile is not counted. */
  forget(limit: number, now: number): number {
    let forgotten = 0
    while (forgotten < limit && this.hasEnded(now)) {
      const window = this.#inOrder.shift()
      if (window === undefined) break
      this.#budget.add(-charsOf(window))
      if (this.#windows.get(window.key) === window && this.#windows.delete(window.key)) forgotten += 1
    }
    return forgotten
  }

  hasEnded(now: number): boolean {
    const oldest = this.#inOrder.at(0)
    return oldest !== undefined && oldest.ends <= now
  }
}

const charsOf = ({ key, id }: Window): number => RECORD_OVERHEAD + key.length + id.length
