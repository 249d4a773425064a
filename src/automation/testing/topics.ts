/**
 * @module automation/testing/topics
 * Simulates the bus of one run: a message reaches the current subscribers and is recorded for the result.
 */
import type { Link } from './link.ts'

/** Removes the prefix: `event:orders` and `orders` are the same topic. */
const bare = (topic: string): string => topic.replace(/^event:(?=.)/, '')

interface Listener {
  readonly topic: string
  readonly queue: unknown[]
  wake: () => void
}

export class LocalTopics {
  readonly published: { readonly topic: string; readonly message: unknown }[] = []
  readonly #link: Link
  readonly #listeners = new Set<Listener>()

  constructor(link: Link) {
    this.#link = link
  }

  /** Publishes a message. While the worker is disconnected, its subscribers miss it. */
  publish(topic: string, message: unknown): void {
    this.published.push({ topic: bare(topic), message })
    if (!this.#link.isUp) return
    for (const listener of this.#listeners) {
      if (listener.topic !== bare(topic)) continue
      listener.queue.push(structuredClone(message))
      listener.wake()
    }
  }

  async *subscribe(topic: string, signal: AbortSignal): AsyncGenerator {
    const listener: Listener = { topic: bare(topic), queue: [], wake: () => {} }
    const wake = (): void => listener.wake()
    this.#listeners.add(listener)
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted) {
        if (listener.queue.length === 0) await new Promise<void>((resolve) => void (listener.wake = resolve))
        while (listener.queue.length > 0 && !signal.aborted) yield listener.queue.shift()
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#listeners.delete(listener)
    }
  }
}
