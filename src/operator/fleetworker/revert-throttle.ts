/**
 * @module operator/fleetworker/revert-throttle
 * Limits how often a contested field is reverted. Once a path was reverted more than 3 times in 10 minutes, its worker
 * is reverted only every 5 minutes, until 30 minutes pass without a revert.
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

  /** @returns the contested path and the other client; `undefined` if no field is contested. */
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

  /** Records that changes of another client at these paths were reverted. */
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
