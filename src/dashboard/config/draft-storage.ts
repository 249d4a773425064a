/**
 * @module dashboard/config/draft-storage
 * Keeps drafts in the storage of the tab, so that a reload in the middle of an edit does not lose them. Only changes of
 * fields that cannot contain a secret are stored: not of secrets, nor of parts that the form shows as JSON, nor text
 * that cannot be read. The drafts of a session are deleted when the user signs out.
 */
import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import type { ConfigDraft, Form, Mode } from './draft.ts'
import type { Base } from './saving.ts'
import type { Shape } from './shape.ts'

// This module is part of the first load, so it imports types only.

const PREFIX = 'muster:draft:'
const MODES: readonly Mode[] = ['open', 'locked', 'git', 'override']

/** A change that was stored. Without a value, the field was reset or removed. */
type StoredChange = readonly [name: string, value?: JsonValue]
interface StoredDraft {
  readonly base: Base
  readonly mode: Mode
  readonly changes: readonly StoredChange[]
}

const valueIn = (config: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(config, name) ? config[name] : undefined

/** Whether a value of this shape may contain a secret. */
const mayHaveSecret = ({ kind, secret, fields, item, branches }: Shape): boolean =>
  secret ||
  kind === 'json' ||
  fields.some(({ shape }) => mayHaveSecret(shape)) ||
  (item !== null && mayHaveSecret(item)) ||
  branches.some(({ shape }) => mayHaveSecret(shape))

/** @returns the text to store; null if no change may be stored. */
export function draftText({ fields }: Form, { base, mode, mine }: ConfigDraft): string | null {
  const config = (mine.value ?? {}) as JsonObject
  const changes = fields
    .filter(({ shape }) => !mayHaveSecret(shape))
    .map(({ name }): StoredChange => {
      const value = valueIn(config, name)
      return value === undefined ? [name] : [name, value]
    })
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(valueIn(base.config, name)))
  if (changes.length === 0) return null
  const stored: StoredDraft = { base, mode, changes }
  return JSON.stringify(stored)
}

/** @returns null if the text is no draft. */
export function draftFrom(text: string | null): ConfigDraft | null {
  if (text === null) return null
  try {
    const { base, mode, changes } = JSON.parse(text) as StoredDraft
    if (typeof base.gen !== 'number' || !MODES.includes(mode)) return null
    const config: Record<string, JsonValue> = { ...base.config }
    for (const [name, value] of changes) {
      if (value === undefined) delete config[name]
      else config[name] = value
    }
    return { base, mode, mine: { value: config, texts: new Map() } }
  } catch {
    return null // Of another release.
  }
}

export function readDraft(key: string): ConfigDraft | null {
  try {
    return draftFrom(sessionStorage.getItem(PREFIX + key))
  } catch {
    return null // The storage is blocked.
  }
}

/** @param text null removes the stored draft. */
export function writeDraft(key: string, text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(PREFIX + key)
    else sessionStorage.setItem(PREFIX + key, text)
  } catch {
    // The storage is blocked or full: the draft lives as long as the page.
  }
}

export function removeDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
  } catch {
    // The storage is blocked, so it has no drafts.
  }
}
