/**
 * @module dashboard/api/known-responses
 * Keeps the newest bodies that have an entity tag, so that a read of unchanged data is a 304 without a body (D154).
 */

/** A response that may be read again. */
export interface KnownResponse {
  readonly tag: string
  readonly body: unknown
}

/** Lists are long, and the query cache keeps the shown ones anyway. */
const MAX_KNOWN = 16

/** Bodies by URL. The least recently used one is dropped first. */
export class KnownResponses {
  readonly #byUrl = new Map<string, KnownResponse>()

  get(url: string): KnownResponse | undefined {
    return this.#byUrl.get(url)
  }

  /** @param tag The entity tag; null if the response has none, so an earlier body is outdated. */
  keep(url: string, tag: string | null, body: unknown): void {
    this.#byUrl.delete(url)
    if (tag === null) return
    this.#byUrl.set(url, { tag, body })
    const [oldest] = this.#byUrl.keys()
    if (this.#byUrl.size > MAX_KNOWN && oldest !== undefined) this.#byUrl.delete(oldest)
  }
}
