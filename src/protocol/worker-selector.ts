/**
 * @module protocol/worker-selector
 * Selects workers by id and by labels. All given parts must match: one of the patterns, and every label. In a pattern
 * `*` stands for any characters, also none, and `?` for exactly one. Matching takes time in proportion to pattern and
 * id, whatever the pattern: it keeps one position to go back to, and never tries two at a time.
 */
import type { WorkerLabels } from './worker-labels.ts'

/** Which workers are selected. A part that is left out or empty matches every worker. */
export interface WorkerSelector {
  readonly idPatterns?: readonly string[] | undefined
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
}

/** What a selector looks at. */
export interface SelectableWorker {
  readonly id: string
  readonly labels?: WorkerLabels | undefined
}

/**
 * Returns whether the selector matches the worker.
 *
 * @param selector `idPatterns`: of one of them the whole id must be an instance. `matchLabels`: the worker must have
 *   each of these labels.
 * @param worker `id`: its id. `labels`: as it registered them; none if omitted.
 */
export function selectsWorker(selector: WorkerSelector, worker: SelectableWorker): boolean {
  const { idPatterns = [], matchLabels = {} } = selector
  const { id, labels = {} } = worker
  return (
    (idPatterns.length === 0 || idPatterns.some((pattern) => matchesPattern(pattern, id))) &&
    Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
  )
}

/**
 * Returns whether the whole text matches the pattern.
 *
 * @param pattern Literal characters, `*` and `?`.
 * @param text Any text; compared by UTF-16 code units.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  let star = -1
  let resumeAt = 0
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next
      next += 1
      resumeAt = at
    } else if (pattern[next] === '?' || (next < pattern.length && pattern[next] === text[at])) {
      at += 1
      next += 1
    } else if (star === -1) {
      return false
    } else {
      // The last star takes one more character. What an earlier star took need not change.
      resumeAt += 1
      at = resumeAt
      next = star + 1
    }
  }
  while (pattern[next] === '*') next += 1
  return next === pattern.length
}
