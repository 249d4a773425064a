/**
 * @module dashboard/config/value-draft
 * Holds a value while the user edits it. The value is always complete. Text that cannot be parsed as the field's type
 * is stored separately by JSON pointer, so that it survives a change of tabs. The text of the whole value has pointer
 * ''.
 *
 *   input ──text──▶ parsed by type ─┬─ valid: the value at the pointer changes; the text is kept as typed ("1.")
 *                                   └─ invalid: the value stays; the text gets an error
 */
import type { FieldError, JsonObject, JsonValue } from '../../protocol/index.ts'
import { parseJson, type ParsedText } from '../components/json-text.ts'
import { pointerStep, stepsOf } from './schema.ts'

interface Typed {
  readonly text: string
  /** The parse error; null if the text was valid. */
  readonly fault: string | null
}

export interface ValueDraft {
  readonly value: JsonValue | undefined
  readonly texts: ReadonlyMap<string, Typed>
}

export const draftOf = (value: JsonValue | undefined): ValueDraft => ({ value, texts: new Map() })

type TextKind = 'integer' | 'number' | 'json'

/** Sets the value at a pointer, or removes it if `next` is undefined. Drops texts at and below the pointer. */
export function setAt({ value, texts }: ValueDraft, pointer: string, next: JsonValue | undefined): ValueDraft {
  const kept = [...texts].filter(
    ([at]) =>
      at !== '' &&
      at !== pointer &&
      !at.startsWith(`${pointer}/`) &&
      !(isListMember(value, pointer) && next === undefined),
  )
  return { value: replaced(value, stepsOf(pointer), next), texts: new Map(kept) }
}

/** Removing a list item shifts the pointers of later items, so all texts of the draft are dropped then. */
function isListMember(value: JsonValue | undefined, pointer: string): boolean {
  return Array.isArray(valueAt(value, pointer.slice(0, pointer.lastIndexOf('/'))))
}

/**
 * Applies text typed at a pointer. Empty text removes the value, except of a list item. The validator reports missing
 * required fields.
 */
export function typeAt(draft: ValueDraft, pointer: string, kind: TextKind, text: string): ValueDraft {
  if (text.trim() === '' && pointer !== '' && !isListMember(draft.value, pointer))
    return setAt(draft, pointer, undefined)
  const read = readText(kind, text)
  const next = read.kind === 'fault' ? draft : setAt(draft, pointer, read.value)
  const texts = new Map(next.texts)
  if (pointer !== '') texts.delete('')
  texts.set(pointer, { text, fault: read.kind === 'fault' ? read.fault : null })
  return { value: next.value, texts }
}

/** Applies JSON text of the whole value, which must be an object. */
export function typeWhole({ value }: ValueDraft, text: string): ValueDraft {
  const read = parseJson(text)
  if (read.kind === 'fault') return { value, texts: new Map([['', { text, fault: read.fault }]]) }
  const isObject = typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value)
  return {
    value: isObject ? read.value : value,
    texts: new Map([['', { text, fault: isObject ? null : 'expected an object: { … }' }]]),
  }
}

/** Drops valid texts, so that inputs show the formatted values again. */
export const settleTexts = ({ value, texts }: ValueDraft): ValueDraft => ({
  value,
  texts: new Map([...texts].filter(([, { fault }]) => fault !== null)),
})

export const unreadable = ({ texts }: ValueDraft): readonly FieldError[] =>
  [...texts].flatMap(([path, { fault }]) =>
    fault === null ? [] : [{ path, message: fault, keyword: 'type', params: {} }],
  )

function readText(kind: TextKind, text: string): ParsedText {
  switch (kind) {
    case 'integer':
      return /^\s*[+-]?\d+\s*$/.test(text) && Number.isSafeInteger(Number(text))
        ? { kind: 'value', value: Number(text) }
        : { kind: 'fault', fault: `expected a whole number, got ${JSON.stringify(text)}` }
    case 'number':
      return Number.isFinite(Number(text)) && /^[\s\d+.eE-]+$/.test(text)
        ? { kind: 'value', value: Number(text) }
        : { kind: 'fault', fault: `expected a number, got ${JSON.stringify(text)}` }
    case 'json':
      return parseJson(text)
  }
}

export function valueAt(value: JsonValue | undefined, pointer: string): JsonValue | undefined {
  return stepsOf(pointer).reduce<JsonValue | undefined>(childOf, value)
}

function childOf(node: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(node)) return (node as readonly JsonValue[])[Number(key)]
  return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? (node as JsonObject)[key] : undefined
}

/** Returns a copy with the value at `steps` replaced or removed. Missing parents become objects. */
function replaced(
  node: JsonValue | undefined,
  steps: readonly string[],
  next: JsonValue | undefined,
): JsonValue | undefined {
  const [key, ...rest] = steps
  if (key === undefined) return next
  const child = replaced(childOf(node, key), rest, next)
  if (Array.isArray(node)) {
    const items = node as readonly JsonValue[]
    return child === undefined ? items.toSpliced(Number(key), 1) : items.toSpliced(Number(key), 1, child)
  }
  const object: JsonObject = typeof node === 'object' && node !== null ? (node as JsonObject) : {}
  if (child !== undefined) return { ...object, [key]: child }
  const { [key]: _, ...others } = object
  return others
}

export const childPointer = (pointer: string, key: string | number): string => pointer + pointerStep(key)
