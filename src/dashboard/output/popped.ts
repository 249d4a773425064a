/**
 * @module dashboard/output/popped
 * Entries that this tab took out of streams. Nobody else has them, so they outlive a change of place, and leaving the
 * page warns until they were saved or thrown away.
 */
import type { OutputEntry } from '../../protocol/index.ts'

export interface Popped {
  readonly entries: readonly OutputEntry[]
  /** A file was made of all of them. */
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
