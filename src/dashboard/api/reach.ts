/**
 * @module dashboard/api/reach
 * Whether the master answers at all, from what became of every call. One for the page.
 */
import { useSyncExternalStore } from 'react'

interface Reach {
  /** When the master last served a call, local milliseconds; undefined before the first. One that only says that it cannot does not. */
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

  /** @param status of the answer; null: there was none. */
  heard(status: number | null): void {
    const { answeredAtMs, awaySinceMs } = this.#now
    const isServed = status !== null && status < 500
    this.#now = {
      answeredAtMs: isServed ? Date.now() : answeredAtMs,
      awaySinceMs: status === null ? (awaySinceMs ?? Date.now()) : undefined,
    }
    if (status !== null && awaySinceMs === undefined && answeredAtMs !== undefined) return // Nothing to show but an age, which ticks anyway.
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
