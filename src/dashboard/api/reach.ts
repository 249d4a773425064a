/**
 * @module dashboard/api/reach
 * Tracks whether the master responds, from the outcome of every call. One instance serves the whole dashboard.
 */
import { useSyncExternalStore } from 'react'

interface Reach {
  /** When the master last served a call, in local milliseconds; undefined before the first. A 5xx does not count. */
  readonly answeredAtMs: number | undefined
  /** When calls started to get no response, in local milliseconds; undefined while the master responds. */
  readonly awaySinceMs: number | undefined
}

class Reached {
  #now: Reach = { answeredAtMs: undefined, awaySinceMs: undefined }
  readonly #watchers = new Set<() => void>()

  get now(): Reach {
    return this.#now
  }

  /** @param status HTTP status; null if there was no response. */
  heard(status: number | null): void {
    const { answeredAtMs, awaySinceMs } = this.#now
    const isServed = status !== null && status < 500
    this.#now = {
      answeredAtMs: isServed ? Date.now() : answeredAtMs,
      awaySinceMs: status === null ? (awaySinceMs ?? Date.now()) : undefined,
    }
    // Only `answeredAtMs` changed, and the ages derived from it are rendered every second anyway.
    if (status !== null && awaySinceMs === undefined && answeredAtMs !== undefined) return
    this.#watchers.forEach((each) => each())
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }
}

export const reach = new Reached()

/** Since when the master has not responded; undefined while it responds. */
export const useAwaySince = (): number | undefined => useSyncExternalStore(reach.watch, () => reach.now.awaySinceMs)
