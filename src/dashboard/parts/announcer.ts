/**
 * @module dashboard/parts/announcer
 * What a screen reader is told while the page changes by itself: at most once every ten seconds, the newest text of each
 * source, since a fleet of thousands never stops changing and nobody can listen to all of it.
 *
 *   say ──▶ waits until 10 s after the last telling ──▶ told, with what the other sources said meanwhile
 */
const EVERY_MS = 10_000
/** A text that changes with each key press is told once the typing rests. */
const REST_MS = 500

interface AnnouncerParts {
  readonly nowMs: () => number
  /** Answers how to call it off. */
  readonly after: (ms: number, act: () => void) => () => void
}

export class Announcer {
  readonly #parts: AnnouncerParts
  readonly #waiting = new Map<string, string>()
  readonly #watchers = new Set<() => void>()
  #told = ''
  #toldAtMs = -Infinity
  /** Since when something waits. */
  #sinceMs = 0
  #cancel: (() => void) | undefined

  constructor(parts: AnnouncerParts) {
    this.#parts = parts
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  readonly told = (): string => this.#told

  /** @param source whose text it is: a newer one takes the place of one that waits. */
  say(source: string, text: string): void {
    const now = this.#parts.nowMs()
    if (this.#waiting.size === 0) this.#sinceMs = now
    this.#waiting.set(source, text)
    this.#cancel?.()
    const dueMs = Math.max(this.#toldAtMs + EVERY_MS, Math.min(now + REST_MS, this.#sinceMs + EVERY_MS))
    this.#cancel = this.#parts.after(dueMs - now, () => this.#tell())
  }

  #tell(): void {
    this.#told = [...this.#waiting.values()].join(' ')
    this.#toldAtMs = this.#parts.nowMs()
    this.#waiting.clear()
    for (const each of this.#watchers) each()
  }
}
