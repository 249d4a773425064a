/**
 * @module dashboard/config/draft
 * What a person changed in a form, and the PATCH it makes. A draft holds the touched fields alone, as text, so a field
 * that nobody touched follows the worker's config when somebody else saves.
 *
 *   field ──edit──▶ set (text) ──parse──▶ value ≠ config: a change · value = config: none · not readable: a fault
 *         ──reset─▶ null, which is the way back to the default (D13); the default itself where null is a value
 */
import type { FieldError, JsonObject, JsonValue } from '../../protocol/index.ts'
import { parseJson, prettyJson, sameJson } from '../parts/json-text.ts'
import { SECRET_MASK, type Field } from './fields.ts'

export type Edit = { readonly kind: 'set'; readonly text: string } | { readonly kind: 'reset' }
export type Draft = ReadonlyMap<string, Edit>
export const NO_DRAFT: Draft = new Map()

export interface Change {
  readonly field: Field
  /** What the PATCH says. */
  readonly value: JsonValue
  /** For people; a secret is never shown. */
  readonly before: string
  readonly after: string
}

export interface Reading {
  readonly changes: readonly Change[]
  /** Sentence by field name: what cannot be read as the field's type. */
  readonly faults: ReadonlyMap<string, string>
}

/** What stands in the field's input; '' when the config has no value for it. */
export function textOf(field: Field, config: JsonObject): string {
  const value = valueIn(config, field.name)
  if (value === undefined || field.secret) return ''
  if (field.kind === 'string' || field.kind === 'integer' || field.kind === 'number' || field.kind === 'boolean') return typeof value === 'object' ? JSON.stringify(value) : String(value)
  return field.kind === 'enum' ? JSON.stringify(value) : prettyJson(value)
}

export const isDefault = (field: Field, config: JsonObject): boolean => sameJson(valueIn(config, field.name), field.fallback)
export const isSet = (field: Field, config: JsonObject): boolean => valueIn(config, field.name) !== undefined

function valueIn(config: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(config, name) ? config[name] : undefined
}

/** Whether there is a way back to "as if nobody had set it". */
export const canReset = ({ required, nullable, fallback }: Field): boolean => fallback !== undefined || (!required && !nullable)

export function readDraft(fields: readonly Field[], config: JsonObject, draft: Draft): Reading {
  const changes: Change[] = []
  const faults = new Map<string, string>()
  for (const field of fields) {
    const edit = draft.get(field.name)
    if (edit === undefined) continue
    const read = edit.kind === 'reset' ? { change: resetOf(field, config) } : setOf(field, config, edit.text)
    if ('fault' in read) faults.set(field.name, read.fault)
    else if (read.change !== null) changes.push(read.change)
  }
  return { changes, faults }
}

export const patchOf = (changes: readonly Change[]): JsonObject => Object.fromEntries(changes.map(({ field, value }) => [field.name, value]))

function resetOf(field: Field, config: JsonObject): Change | null {
  const current = valueIn(config, field.name)
  if (field.secret ? current === undefined : sameJson(current, field.fallback)) return null
  const value = field.nullable && field.fallback !== undefined ? field.fallback : null
  return { field, value, before: shown(field, current), after: field.fallback === undefined ? 'not set' : `${shown(field, field.fallback)} (default)` }
}

function setOf(field: Field, config: JsonObject, text: string): { readonly change: Change | null } | { readonly fault: string } {
  const current = valueIn(config, field.name)
  if (current === undefined && field.kind === 'string' && text === '') return { change: null }
  const read = readText(field, text)
  if ('fault' in read) return read
  if (field.secret ? false : sameJson(current, read.value)) return { change: null }
  return { change: { field, value: read.value, before: shown(field, current), after: field.secret ? 'a new secret' : shown(field, read.value) } }
}

/** The text of an input as the field's type; bounds are the master's to judge. */
export function readText({ kind, secret, options }: Field, text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (secret && text.trim() === '') return { fault: 'type the new value, or keep the stored one' }
  if (secret && text === SECRET_MASK) return { fault: 'this is the mask that stands for the stored value; keep it, or type another' }
  switch (kind) {
    case 'boolean': return { value: text === 'true' }
    case 'integer': return /^\s*[+-]?\d+\s*$/.test(text) && Number.isSafeInteger(Number(text)) ? { value: Number(text) } : { fault: `expected a whole number, ${got(text)}` }
    case 'number': return text.trim() !== '' && Number.isFinite(Number(text)) ? { value: Number(text) } : { fault: `expected a number, ${got(text)}` }
    case 'string': return { value: text }
    case 'enum': {
      const option = options.find((each) => JSON.stringify(each) === text)
      return option === undefined ? { fault: 'choose one of the values' } : { value: option }
    }
    case 'json': return parseJson(text)
  }
}

const got = (text: string): string => (text.trim() === '' ? 'got nothing' : `got ${JSON.stringify(text)}`)

function shown(field: Field, value: JsonValue | undefined): string {
  if (value === undefined) return 'not set'
  return field.secret ? 'the stored secret' : JSON.stringify(value)
}

/** The text of an option of an enumeration. */
export const optionText = (option: JsonValue): string => (typeof option === 'string' && option !== '' ? option : JSON.stringify(option))

/** The faults of a 422 by field; what belongs to no field is under ''. */
export function faultsByField(faults: readonly FieldError[], fields: readonly Field[]): ReadonlyMap<string, string> {
  const names = new Set(fields.map(({ name }) => name))
  const found = new Map<string, string>()
  for (const { path, message } of faults) {
    const [, first = '', ...rest] = path.split('/')
    const name = first.replaceAll('~1', '/').replaceAll('~0', '~')
    const known = names.has(name)
    const sentence = known ? (rest.length === 0 ? message : `/${rest.join('/')} ${message}`) : `${path === '' ? 'the config' : path} ${message}`
    const key = known ? name : ''
    found.set(key, found.has(key) ? `${found.get(key)}; ${sentence}` : sentence)
  }
  return found
}

/** Names whose value differs between two configs: what somebody else saved under a draft. */
export function changedFields(fields: readonly Field[], before: JsonObject, after: JsonObject): readonly string[] {
  return fields.filter(({ name }) => !sameJson(valueIn(before, name), valueIn(after, name))).map(({ name }) => name)
}
