/**
 * @module operator/fleetworker/revert-throttle
 * A field that somebody else keeps changing back is not fought over at full speed: once a path was reverted more than 3
 * times in 10 minutes, its worker is reverted every 5 minutes, until nothing had to be reverted for 30.
 */
const WINDOW_MS = 10 * 60_000
const MAX_REVERTS = 3
const SLOT_MS = 5 * 60_000
const QUIET_MS = 30 * 60_000

export class RevertThrottle {
  readonly #reverts = new Map<string, readonly number[]>()
  #path: string | undefined
  #revertedMs = -Infinity
  #by: string | null = null

  /** The path that is fought over, and with whom; undefined: there is peace. */
  throttledAt(
    nowMs: number,
  ):
    | { readonly path: string; readonly by: string | null; readonly nextMs: number; readonly quietMs: number }
    | undefined {
    if (this.#path !== undefined && nowMs - this.#revertedMs >= QUIET_MS) this.#path = undefined
    return this.#path === undefined
      ? undefined
      : { path: this.#path, by: this.#by, nextMs: this.#revertedMs + SLOT_MS, quietMs: this.#revertedMs + QUIET_MS }
  }

  /** A change of others at these paths was undone. */
  onRevert(paths: readonly string[], by: string | null, nowMs: number): void {
    for (const [path, times] of this.#reverts)
      if (times.every((atMs) => nowMs - atMs >= WINDOW_MS)) this.#reverts.delete(path)
    this.#revertedMs = nowMs
    this.#by = by
    for (const path of paths) {
      const times = [...(this.#reverts.get(path) ?? []), nowMs].filter((atMs) => nowMs - atMs < WINDOW_MS)
      this.#reverts.set(path, times)
      if (times.length > MAX_REVERTS) this.#path = path
    }
  }
}
