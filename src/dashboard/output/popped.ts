/**
 * @module dashboard/output/popped
 * Stores the entries that this tab popped. No other consumer has them, so they survive navigation inside the page, and
 * the browser warns before the page is closed until they are saved or discarded.
 */
import type { OutputEntry } from '../../protocol/index.ts'

export interface Popped {
  readonly entries: readonly OutputEntry[]
  /** Whether all of them were written to a file. */
  readonly isSaved: boolean
}

const NO_POPPED: Popped = { entries: [], isSaved: true }

export class PoppedStore {
  readonly #byType = new Map<string, Popped>()
  readonly #watchers = new Set<() => void>()

  of(type: string): Popped {
    return this.#byType.get(type) ?? NO_POPPED
  }

  get hasUnsaved(): boolean {
    return [...this.#byType.values()].some(({ isSaved }) => !isSaved)
  }

  add(type: string, entries: readonly OutputEntry[]): void {
    if (entries.length > 0) this.#put(type, { entries: [...this.of(type).entries, ...entries], isSaved: false })
  }

  markSaved(type: string): void {
    this.#put(type, { ...this.of(type), isSaved: true })
  }

  clear(type: string): void {
    this.#put(type, NO_POPPED)
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #put(type: string, popped: Popped): void {
    this.#byType.set(type, popped)
    this.#watchers.forEach((each) => each())
  }
}
