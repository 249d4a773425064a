/**
 * @module master/metrics/shared-text
 * Renders a text at most once a second, and never concurrently. Further callers share the newest one, so that many
 * scrapers cost the same as one (D72).
 */
import type { Clock } from '../../runtime/index.ts'

const FRESH_MS = 1_000

/** @returns a function that resolves to the text in UTF-8. All callers get the same bytes. */
export function sharedText(clock: Clock, make: () => Promise<string>): () => Promise<Buffer> {
  let kept: Promise<Buffer> | null = null
  let freshUntilMs = -Infinity
  return () => {
    if (kept !== null && clock.monotonicMs() < freshUntilMs) return kept
    freshUntilMs = Infinity // Until the text is rendered.
    const made = make().then((text) => Buffer.from(text))
    const settle = (): void => void (freshUntilMs = clock.monotonicMs() + FRESH_MS)
    made.then(settle, settle)
    kept = made
    return made
  }
}
