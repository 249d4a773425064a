/**
 * @module dashboard/config/draft
 * Computes the changes of a config draft and the resulting PATCH. A draft is a complete config plus the generation it
 * is based on. Changes are computed per top-level field, as the master merges them (D13).
 *
 *   base ──edits──▶ mine ──difference──▶ changes ──▶ PATCH { field: value, or null to reset to the default }
 *                     └── saved by another client meanwhile: merge.ts rebases the changes on the newest generation
 */
import type { FieldError, JsonObject, JsonSchema, JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import type { Base } from './saving.ts'
import { pointerStep, SECRET_MASK, stepsOf } from './schema.ts'
import { fieldsOf, type Field } from './shape.ts'
import { draftOf, unreadable, type ValueDraft } from './value-draft.ts'
import { validate } from './validator.ts'

/**
 * - `open`: the config is not managed elsewhere.
 * - `locked`: the config is managed elsewhere and read-only here.
 * - `git`: the draft becomes a patch for a repository and is not saved on the master.
 * - `override`: the draft is saved although the config is managed elsewhere.
 */
export type Mode = 'open' | 'locked' | 'git' | 'override'

export interface ConfigDraft {
  readonly base: Base
  readonly mine: ValueDraft
  readonly mode: Mode
}

export interface Change {
  readonly name: string
  /** undefined if the field is not set. */
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  readonly isSecret: boolean
  /** Whether `after` is the default of the field. */
  readonly isDefault: boolean
  /** The value in the PATCH; null resets the field. */
  readonly patch: JsonValue
}

export interface Form {
  readonly schema: JsonSchema
  readonly fields: readonly Field[]
}

export const formOf = (schema: JsonSchema): Form => ({ schema, fields: fieldsOf(schema) })

export const draftOn = (base: Base, mode: Mode = 'open'): ConfigDraft => ({ base, mode, mine: draftOf(base.config) })

/** The edited config; the value of a draft is always an object. */
export const mineOf = ({ mine }: ConfigDraft): JsonObject => (mine.value ?? {}) as JsonObject

export function valueIn(config: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(config, name) ? config[name] : undefined
}

/** The names of the fields in which two configs differ, in form order, unknown fields last. */
export function differing(fields: readonly Field[], before: JsonObject, after: JsonObject): readonly string[] {
  const names = new Set([...fields.map(({ name }) => name), ...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !sameJson(valueIn(before, name), valueIn(after, name)))
}

export function changesOf({ fields }: Form, before: JsonObject, after: JsonObject): readonly Change[] {
  return differing(fields, before, after).flatMap((name) => {
    const field = fields.find((each) => each.name === name)
    const fallback = field?.shape.fallback
    const value = valueIn(after, name)
    const end = value === undefined ? fallback : value
    const old = valueIn(before, name)
    if (sameJson(end, old)) return [] // Removed, but the value was the default already.
    return [
      {
        name,
        before: old,
        after: end,
        isSecret: field?.shape.secret ?? false,
        isDefault: fallback !== undefined && sameJson(end, fallback),
        patch: value === undefined ? resetValue(field) : value,
      },
    ]
  })
}

/** The value that resets a field in a PATCH. For a nullable field with a default, null would be stored as its value. */
function resetValue(field: Field | undefined): JsonValue {
  const fallback = field?.shape.fallback
  return field?.shape.nullable === true && fallback !== undefined ? fallback : null
}

export const changesIn = (form: Form, draft: ConfigDraft): readonly Change[] =>
  changesOf(form, draft.base.config, mineOf(draft))
export const patchOf = (changes: readonly Change[]): JsonObject =>
  Object.fromEntries(changes.map(({ name, patch }) => [name, patch]))
export const isDirty = (form: Form, draft: ConfigDraft): boolean =>
  unreadable(draft.mine).length > 0 || changesIn(form, draft).length > 0

/** Validates a draft in the browser. Text that cannot be parsed comes first. */
export function faultsIn(form: Form, draft: ConfigDraft): readonly FieldError[] {
  const config = mineOf(draft)
  const kept = new Set(
    form.fields
      .filter(({ name, shape }) => shape.secret && valueIn(config, name) === SECRET_MASK)
      .map(({ name }) => name),
  )
  const ofSecrets = form.fields.flatMap(({ name, shape }) =>
    emptySecrets(shape, pointerStep(name), valueIn(config, name)),
  )
  const typed = unreadable(draft.mine)
  const reported = new Set([...typed, ...ofSecrets].map(({ path }) => path))
  const ofValues = validate(form.schema, config).filter(
    ({ path, keyword }) =>
      !kept.has(topOf(path)) && !reported.has(path) && !(keyword === 'required' && stoodIn(form, path)),
  )
  return [...typed, ...ofSecrets, ...unremovable(form, draft), ...ofValues]
}

/** Whether a missing field is filled by its default. */
const stoodIn = ({ fields }: Form, path: string): boolean =>
  fields.some(({ name, shape }) => pointerStep(name) === path && shape.fallback !== undefined)

function emptySecrets(shape: Field['shape'], path: string, value: JsonValue | undefined): readonly FieldError[] {
  if (shape.secret)
    return value === ''
      ? [{ path, message: 'enter a new value or keep the stored one', keyword: 'minLength', params: {} }]
      : []
  if (shape.kind !== 'object' || typeof value !== 'object' || value === null) return []
  return shape.fields.flatMap((field) =>
    emptySecrets(field.shape, path + pointerStep(field.name), valueIn(value as JsonObject, field.name)),
  )
}

/** A PATCH cannot unset a field that accepts null as a value and has no default (D13). */
function unremovable({ fields }: Form, draft: ConfigDraft): readonly FieldError[] {
  const config = mineOf(draft)
  return fields
    .filter(
      ({ name, shape }) =>
        shape.nullable &&
        shape.fallback === undefined &&
        valueIn(config, name) === undefined &&
        valueIn(draft.base.config, name) !== undefined,
    )
    .map(({ name }) => ({
      path: pointerStep(name),
      message: 'cannot be unset: null is a valid value of this field',
      keyword: 'required',
      params: {},
    }))
}

/** The top-level field of a JSON pointer; '' for the empty pointer. */
export const topOf = (path: string): string => stepsOf(path)[0] ?? ''

/**
 * Creates a draft with the values of an older config. Secrets keep their current values, since old ones are not stored.
 */
export function revertTo({ fields }: Form, base: Base, old: JsonObject, mode: Mode): ConfigDraft {
  return { base, mode, mine: draftOf(withSecretsOf(fields, old, base.config)) }
}

function withSecretsOf(fields: readonly Field[], old: JsonObject, current: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...old }
  for (const { name, shape } of fields) {
    const [before, now] = [valueIn(old, name), valueIn(current, name)]
    if (!shape.secret) {
      if (shape.kind === 'object' && isObject(before))
        result[name] = withSecretsOf(shape.fields, before, isObject(now) ? now : {})
    } else if (now === undefined) delete result[name]
    else result[name] = now
  }
  return result
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Formats one side of a change. Secrets are never shown, neither stored nor new ones. */
export function sideText(value: JsonValue | undefined, { isSecret }: Change, side: 'before' | 'after'): string {
  if (value === undefined) return 'not set'
  if (!isSecret) return JSON.stringify(value)
  return side === 'after' && value !== SECRET_MASK ? 'a new secret' : 'the stored secret'
}

/** Masks new secrets inside objects for the list of changes. The master masks stored ones. */
export function withoutSecrets(
  fields: readonly Field[],
  name: string,
  value: JsonValue | undefined,
): JsonValue | undefined {
  const field = fields.find((each) => each.name === name)
  return field === undefined || value === undefined ? value : maskSecrets(field.shape, value)
}

function maskSecrets(shape: Field['shape'], value: JsonValue): JsonValue {
  if (shape.secret) return SECRET_MASK
  if (shape.kind !== 'object' || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const field = shape.fields.find(({ name }) => name === key)
      return [key, field === undefined ? each : maskSecrets(field.shape, each)]
    }),
  )
}
