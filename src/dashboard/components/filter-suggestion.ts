/** @module dashboard/components/filter-suggestion  What the field of a filter may suggest. */

/** A text that the field may take over. */
export interface FilterSuggestion {
  /** The whole filter with the suggestion in it, and where the cursor is then. */
  readonly q: string
  readonly caret: number
  readonly text: string
  readonly note: string
  /** Whether more suggestions follow. */
  readonly isOpen: boolean
}
