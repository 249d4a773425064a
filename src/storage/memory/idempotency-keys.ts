/**
 * @module storage/memory/idempotency-keys
 * Which task a key of the client stands for, until its window ends. The windows of one type are as a rule of one length,
 * so the oldest ends first and forgetting is taking from the front; a window is judged by its own end all the same.
 */
import { RECORD } from './ledger.ts'
import { Ring } from './ring.ts'
import type { Ledger } from './ledger.ts'

interface Window {
  readonly key: string
  readonly id: string
  readonly ends: number
}

export class IdempotencyKeys {
  readonly #ledger: Ledger
  readonly #windows = new Map<string, Window>()
  readonly #inOrder = new Ring<Window>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** The first task of that key, also when it is long gone. */
  find(key: string, now: number): string | undefined {
    const window = this.#windows.get(key)
    return window !== undefined && window.ends > now ? window.id : undefined
  }

  record(key: string, id: string, ends: number): void {
    const window = { key, id, ends }
    this.#windows.set(key, window)
    this.#inOrder.push(window)
    this.#ledger.add(charsOf(window))
  }

  /** Forgets ended windows, at most `limit`. One that was renewed meanwhile only leaves its room. */
  forget(limit: number, now: number): number {
    let forgotten = 0
    while (forgotten < limit && this.hasEnded(now)) {
      const window = this.#inOrder.shift()
      if (window === undefined) break
      this.#ledger.add(-charsOf(window))
      if (this.#windows.get(window.key) === window && this.#windows.delete(window.key)) forgotten += 1
    }
    return forgotten
  }

  hasEnded(now: number): boolean {
    const oldest = this.#inOrder.at(0)
    return oldest !== undefined && oldest.ends <= now
  }
}

const charsOf = ({ key, id }: Window): number => RECORD + key.length + id.length
