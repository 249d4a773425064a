/**
 * @module dashboard/config/form-state
 * Defines the state that all inputs of a form share: the draft, its errors and a function to change it. A change is an
 * update function on the latest draft, so that memoized rows never overwrite newer edits.
 */
import { useCallback, useLayoutEffect, useRef } from 'react'
import type { FieldError, JsonValue } from '../../protocol/index.ts'
import { setAt, typeAt, valueAt, type ValueDraft } from './value-draft.ts'

export interface FormState {
  /** Prefix of input IDs; the rest is the JSON pointer. */
  readonly id: string
  readonly draft: ValueDraft
  /** The original value; undefined for a form that creates a new value. */
  readonly before: JsonValue | undefined
  /** Error message by JSON pointer. */
  readonly faults: ReadonlyMap<string, string>
  readonly change: (step: (draft: ValueDraft) => ValueDraft) => void
}

export const inputId = (id: string, pointer: string): string => `${id}${pointer}`

export function set(form: FormState, pointer: string, value: JsonValue | undefined): void {
  form.change((draft) => setAt(draft, pointer, value))
}

export function type(form: FormState, pointer: string, kind: 'integer' | 'number' | 'json', text: string): void {
  form.change((draft) => typeAt(draft, pointer, kind, text))
}

export const valueOf = ({ draft }: FormState, pointer: string): JsonValue | undefined => valueAt(draft.value, pointer)
export const beforeOf = ({ before }: FormState, pointer: string): JsonValue | undefined => valueAt(before, pointer)

/** Creates `change` for a controlled draft. */
export function useDraftChange(draft: ValueDraft, onDraft: (next: ValueDraft) => void): FormState['change'] {
  const newest = useRef({ draft, onDraft })
  useLayoutEffect(() => {
    newest.current = { draft, onDraft }
  })
  return useCallback((step) => {
    const next = step(newest.current.draft)
    newest.current = { ...newest.current, draft: next }
    newest.current.onDraft(next)
  }, [])
}

/** Whether the row of a pointer renders the same in both states. */
export function sameAt(a: FormState, b: FormState, pointer: string): boolean {
  return (
    a.id === b.id &&
    a.change === b.change &&
    valueOf(a, pointer) === valueOf(b, pointer) &&
    beforeOf(a, pointer) === beforeOf(b, pointer) &&
    sameBelow(a.faults, b.faults, pointer) &&
    sameBelow(a.draft.texts, b.draft.texts, pointer)
  )
}

function sameBelow(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>, pointer: string): boolean {
  if (a === b) return true
  const below = (map: ReadonlyMap<string, unknown>) =>
    [...map].filter(([path]) => path === pointer || path.startsWith(`${pointer}/`))
  const [left, right] = [below(a), below(b)]
  return left.length === right.length && left.every(([path, value]) => b.get(path) === value)
}

/** Keeps the first error of each path; errors found in the browser come first. */
export function faultsByPath(faults: readonly FieldError[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { path, message } of faults) if (!found.has(path)) found.set(path, message)
  return found
}

/** Focuses the input with the error, or its closest ancestor. @returns whether there is one. */
export function focusFault(id: string, pointer: string): boolean {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = document.getElementById(inputId(id, at))
    if (found === null) continue
    found.focus()
    found.scrollIntoView({ block: 'center' })
    return true
  }
  return false
}
