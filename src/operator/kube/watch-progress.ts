/**
 * @module operator/kube/watch-progress
 * Reports how fresh a cache is, so that a decision need not read its object again from the API server.
 *
 * Versions of all objects of a kind come from one counter. So a write that the operator sent at time `t` has a newer
 * version than every edit before `t`. Once the watch has shown this version, the cache contains all these edits:
 *
 *   write sent at t ──▶ response: version v ──▶ watch shows v or newer ──▶ the cache is as of t or later
 *
 * A list is no proof, because it may come from a server that is behind. One version is awaited at a time. A watch that
 * is silent, frozen or behind does not show it, and the time stays as it was.
 */
import type { Clock } from '../../runtime/index.ts'
import { compareVersions } from './cache.ts'

/** A version that was not shown for this long is given up. It never comes if the store went back to a backup. */
const GIVE_UP_MS = 5_000

export class WatchProgress {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #newest: string | undefined
  #awaited: { readonly version: string; readonly sentMs: number } | undefined
  #asOfMs = -Infinity

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The newest version that a list or an event has shown. */
  get newest(): string | undefined {
    return this.#newest
  }

  /** The cache contains every change up to this time of the monotonic clock, and perhaps later ones. */
  get asOfMs(): number {
    return this.#asOfMs
  }

  /** A list or the watch has shown every change up to `version`. */
  shown(version: string): void {
    this.#newest = version
    if (this.#awaited === undefined || !isShown(this.#awaited.version, version)) return
    this.#asOfMs = Math.max(this.#asOfMs, this.#awaited.sentMs)
    this.#awaited = undefined
  }

  /** A write that was sent at `sentMs` gave its object this version. A write without a change does not count. */
  wrote(version: string, sentMs: number): void {
    if (this.#newest !== undefined && isShown(version, this.#newest)) this.#asOfMs = Math.max(this.#asOfMs, sentMs)
    else if (this.#awaited === undefined || this.#clock.monotonicMs() - this.#awaited.sentMs >= GIVE_UP_MS)
      this.#awaited = { version, sentMs }
  }
}

/** A version that is not decimal compares as newer than any other, so it proves nothing. */
const isShown = (version: string, newest: string): boolean =>
  version === newest || compareVersions(version, newest) === 'older'
