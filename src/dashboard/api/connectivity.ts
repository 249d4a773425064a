/**
 * @module dashboard/api/connectivity
 * Tracks whether the master responds, from the outcome of every call. One instance serves the whole dashboard.
 */
import { useSyncExternalStore } from 'react'

interface ConnectivityState {
  /** When the master last served a call, in local milliseconds; undefined before the first. A 5xx does not count. */
  readonly lastResponseAtMs: number | undefined
  /** When calls started to get no response, in local milliseconds; undefined while the master responds. */
  readonly unavailableSinceMs: number | undefined
}

class Connectivity {
  #now: ConnectivityState = { lastResponseAtMs: undefined, unavailableSinceMs: undefined }
  readonly #watchers = new Set<() => void>()

  get now(): ConnectivityState {
    return this.#now
  }

  /** @param status HTTP status; null if there was no response. */
  record(status: number | null): void {
    const { lastResponseAtMs, unavailableSinceMs } = this.#now
    const isServed = status !== null && status < 500
    this.#now = {
      lastResponseAtMs: isServed ? Date.now() : lastResponseAtMs,
      unavailableSinceMs: status === null ? (unavailableSinceMs ?? Date.now()) : undefined,
    }
    // Only `lastResponseAtMs` changed, and the ages derived from it are rendered every second anyway.
    if (status !== null && unavailableSinceMs === undefined && lastResponseAtMs !== undefined) return
    this.#watchers.forEach((each) => each())
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }
}

export const connectivity = new Connectivity()

/** Shorter outages are not reported. */
export const OUTAGE_PATIENCE_MS = 5_000

/** Since when the master has not responded; undefined while it responds. */
export const useUnavailableSince = (): number | undefined =>
  useSyncExternalStore(connectivity.watch, () => connectivity.now.unavailableSinceMs)
