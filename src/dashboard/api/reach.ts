/**
 * @module dashboard/api/reach
 * Whether the master answers at all, from what became of every call. One for the page.
 */
import { useSyncExternalStore } from 'react'

interface Reach {
  /** When the last answer came, local milliseconds; undefined before the first. */
  readonly answeredAtMs: number | undefined
  /** Since when nothing was answered; undefined while it answers. */
  readonly awaySinceMs: number | undefined
}

class Reached {
  #now: Reach = { answeredAtMs: undefined, awaySinceMs: undefined }
  readonly #watchers = new Set<() => void>()

  get now(): Reach {
    return this.#now
  }

  heard(answered: boolean): void {
    const { answeredAtMs, awaySinceMs } = this.#now
    this.#now = answered ? { answeredAtMs: Date.now(), awaySinceMs: undefined } : { answeredAtMs, awaySinceMs: awaySinceMs ?? Date.now() }
    if (answered && awaySinceMs === undefined && answeredAtMs !== undefined) return // Nothing to show but an age, which ticks anyway.
    this.#watchers.forEach((each) => each())
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }
}

export const reach = new Reached()

/** Since when the master is away; undefined while it answers. */
export const useAwaySince = (): number | undefined => useSyncExternalStore(reach.watch, () => reach.now.awaySinceMs)
