/**
 * @module dashboard/components/announcer
 * Throttles screen reader announcements to one every ten seconds, because a large fleet changes constantly. Each
 * announcement contains the latest text of every source.
 *
 *   say ──▶ queued until 10 s after the last announcement ──▶ announced together with the texts of other sources
 */
const EVERY_MS = 10_000
/** Debounces texts that change with each key press. */
const REST_MS = 500

interface AnnouncerDeps {
  readonly nowMs: () => number
  /** @returns a function that cancels the timer. */
  readonly after: (ms: number, act: () => void) => () => void
}

export class Announcer {
  readonly #deps: AnnouncerDeps
  readonly #waiting = new Map<string, string>()
  readonly #watchers = new Set<() => void>()
  #announced = ''
  #announcedAtMs = -Infinity
  /** When the oldest queued text was added. */
  #sinceMs = 0
  #cancel: (() => void) | undefined

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  readonly announced = (): string => this.#announced

  /** @param source Identifies the text: a newer text replaces a queued one of the same source. */
  say(source: string, text: string): void {
    const now = this.#deps.nowMs()
    if (this.#waiting.size === 0) this.#sinceMs = now
    this.#waiting.set(source, text)
    this.#cancel?.()
    const dueMs = Math.max(this.#announcedAtMs + EVERY_MS, Math.min(now + REST_MS, this.#sinceMs + EVERY_MS))
    this.#cancel = this.#deps.after(dueMs - now, () => this.#announce())
  }

  #announce(): void {
    this.#announced = [...this.#waiting.values()].join(' ')
    this.#announcedAtMs = this.#deps.nowMs()
    this.#waiting.clear()
    for (const each of this.#watchers) each()
  }
}
