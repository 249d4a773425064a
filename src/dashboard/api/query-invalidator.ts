/**
 * @module dashboard/api/query-invalidator
 * Invalidates the queries that an event made stale: immediately, then at most every 2 s per key. The master computes
 * the overview at most every 5 s (D48), so a response soon after an event may predate it. The overview is therefore
 * reloaded once more 5 s after the last event.
 */
import type { FleetEvent } from './feed.ts'
import { staleKeys, type ReadKey } from './stale-keys.ts'

const REFRESH_EVERY_MS = 2_000
/** An overview requested this long after an event includes the event. */
export const COUNTED_WITHIN_MS = 5_000

export interface QueryInvalidatorDeps {
  readonly refresh: (key: ReadKey | 'all') => void
  readonly localMs: () => number
  readonly after: (ms: number, act: () => void) => () => void
}

export class QueryInvalidator {
  readonly #deps: QueryInvalidatorDeps
  readonly #due = new Map<string, ReadKey | 'all'>()
  /** When each key was last refreshed, for the last two seconds. */
  readonly #readAt = new Map<string, number>()
  #endTurn: (() => void) | undefined
  #endCount: (() => void) | undefined

  constructor(deps: QueryInvalidatorDeps) {
    this.#deps = deps
  }

  onEvents(events: readonly FleetEvent[]): void {
    for (const event of events) {
      const keys = staleKeys(event)
      if (keys === 'all') this.#due.set('all', 'all')
      else for (const key of keys) this.#due.set(key.join('\n'), key)
    }
    if (this.#due.has('overview') || this.#due.has('all')) this.countAgain()
    if (this.#due.size > 0 && this.#endTurn === undefined) this.#turn()
  }

  end(): void {
    this.#endTurn?.()
    this.#endCount?.()
    this.#endTurn = undefined
    this.#endCount = undefined
  }

  /** Schedules a reload of the overview for when the master has recomputed it. */
  countAgain(): void {
    this.#endCount?.()
    this.#endCount = this.#deps.after(COUNTED_WITHIN_MS, () => this.#deps.refresh(['overview']))
  }

  #turn(): void {
    this.#endTurn = undefined
    const now = this.#deps.localMs()
    for (const [name, atMs] of this.#readAt) if (now - atMs >= REFRESH_EVERY_MS) this.#readAt.delete(name)
    for (const [name, key] of this.#due) {
      if (this.#readAt.has(name)) continue
      this.#due.delete(name)
      this.#readAt.set(name, now)
      this.#deps.refresh(key)
    }
    if (this.#due.size > 0) this.#endTurn = this.#deps.after(REFRESH_EVERY_MS / 4, () => this.#turn())
  }
}
