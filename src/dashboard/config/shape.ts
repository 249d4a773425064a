/**
 * @module dashboard/config/shape
 * Maps a JSON Schema to form inputs. A node that a form cannot represent becomes a JSON input: a keyword outside the
 * supported subset, or a recursive reference.
 *
 *   schema ──resolve $ref──▶ whole secret? ──▶ enum · union · object · array · boolean · integer · …
 */
import { formatText } from './format-text.ts'
import { timeFormatOf, type TimeFormat } from './native-time.ts'
import type { JsonSchema, JsonValue } from '../../protocol/index.ts'
import { branchesOf, isSchema, isWholeSecret, optionsOf, propertiesOf, requiredOf, targetOf } from './schema.ts'

type Kind = 'boolean' | 'integer' | 'number' | 'string' | 'enum' | 'object' | 'array' | 'union' | 'json'

export interface Shape {
  readonly kind: Kind
  /** null if the schema has none. */
  readonly title: string | null
  readonly description: string | null
  /** Constraints and default as text; '' if there are none. */
  readonly hint: string
  /** The `format` of a string; undefined if it has no input of its own. */
  readonly timeFormat?: TimeFormat | undefined
  readonly options: readonly JsonValue[]
  /** The fields of an object, in schema order. */
  readonly fields: readonly Field[]
  /** The items of an array. */
  readonly item: Shape | null
  /** Of a union, and the possible kinds of a secret. */
  readonly branches: readonly Branch[]
  readonly nullable: boolean
  readonly secret: boolean
  readonly readOnly: boolean
  readonly deprecated: boolean
  /** The default; undefined if there is none. */
  readonly fallback: JsonValue | undefined
}

export interface Field {
  readonly name: string
  readonly shape: Shape
  /** Whether the field is required and has no default. */
  readonly required: boolean
}

export interface Branch {
  readonly title: string
  readonly schema: JsonSchema
  readonly shape: Shape
}

const SUBSET = new Set([
  'type',
  'enum',
  'const',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'uniqueItems',
  'oneOf',
  'anyOf',
  '$ref',
  '$defs',
  '$id',
  '$schema',
  '$comment',
  'title',
  'description',
  'examples',
  'default',
  'readOnly',
  'writeOnly',
  'deprecated',
  '~kind',
])
/** Keywords that begin with `x-` are annotations and do not restrict values, for example `x-muster-bound-to` (D88). */
const isKnown = (keyword: string): boolean => SUBSET.has(keyword) || keyword.startsWith('x-')
/** Deeper nodes are shown as JSON, which is easier to read than a deeply nested form. */
const MAX_DEPTH = 6

interface SchemaContext {
  readonly root: JsonSchema
  readonly above: readonly JsonSchema[]
}

export function shapeOf(schema: JsonSchema): Shape {
  return shapeAt(schema, { root: schema, above: [] })
}

/** The fields of an object schema; empty for any other. */
export const fieldsOf = (schema: JsonSchema): readonly Field[] => fieldsAt(schema, { root: schema, above: [schema] })

function fieldsAt(schema: JsonSchema, context: SchemaContext): readonly Field[] {
  const required = requiredOf(schema)
  return Object.entries(propertiesOf(schema)).map(([name, own]) => {
    const shape = shapeAt(own, context)
    return { name, shape, required: required.has(name) && shape.fallback === undefined }
  })
}

function shapeAt(own: JsonSchema, { root, above }: SchemaContext): Shape {
  const schema = resolved(own, root)
  const secret = isWholeSecret(own, root)
  const alone = withoutNull(schema)
  const context = { root, above: [...above, alone] }
  const isEndless = above.includes(alone) || above.length > MAX_DEPTH || !Object.keys(alone).every(isKnown)
  const kind = isEndless ? 'json' : kindOf(alone, secret)
  return {
    kind,
    secret,
    title: textOf(schema['title']),
    description: textOf(schema['description']),
    hint: hintOf(alone, schema),
    timeFormat: kind === 'string' ? timeFormatOf(alone['format']) : undefined,
    options: kind === 'enum' ? optionsOf(schema) : [],
    fields: kind === 'object' ? fieldsAt(alone, context) : [],
    item: kind === 'array' ? shapeAt(alone['items'] as JsonSchema, context) : null,
    branches:
      kind === 'union' || secret
        ? (branchesOf(alone) ?? []).map((branch, index) => branchAt(branch, index, context))
        : [],
    nullable: acceptsNull(schema),
    readOnly: schema['readOnly'] === true,
    deprecated: schema['deprecated'] === true,
    fallback: schema['default'] as JsonValue | undefined,
  }
}

function branchAt(schema: JsonSchema, index: number, context: SchemaContext): Branch {
  const shape = shapeAt(schema, context)
  const title = shape.title ?? constantOf(shape) ?? (shape.kind === 'json' ? `Option ${index + 1}` : shape.kind)
  return { shape, schema, title }
}

/** The first required constant of an object, which distinguishes it from other branches: `fixed`. */
function constantOf({ fields }: Shape): string | undefined {
  const found = fields.find(({ required, shape }) => required && shape.options.length === 1)
  return found && optionText(found.shape.options[0] as JsonValue)
}

/** Resolves a reference and merges the keywords beside it. */
function resolved(schema: JsonSchema, root: JsonSchema, steps = 8): JsonSchema {
  const target = targetOf(schema, root)
  if (target === undefined || steps === 0) return schema
  const { $ref: _, ...beside } = schema
  const end = resolved(target, root, steps - 1)
  return Object.keys(beside).length === 0 ? end : { ...end, ...beside }
}

/** The schema without its null type: `string | null` becomes a nullable text input. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { type } = schema as { type?: unknown }
  if (Array.isArray(type) && type.includes('null') && type.length === 2)
    return { ...schema, type: type.find((each) => each !== 'null') as unknown }
  const branches = branchesOf(schema)
  const others = branches?.filter((branch) => branch['type'] !== 'null')
  if (branches === null || others === undefined || others.length === branches.length || others.length !== 1)
    return schema
  const { anyOf: _, oneOf: __, ...beside } = schema
  return { ...others[0], ...beside }
}

function kindOf(schema: JsonSchema, secret: boolean): Kind {
  if (optionsOf(schema).length > 0) return 'enum'
  if (branchesOf(schema) !== null) return secret ? 'json' : 'union'
  const { type } = schema as { type?: unknown }
  switch (type) {
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
      return type
    case 'object':
      return secret || Object.keys(propertiesOf(schema)).length === 0 ? 'json' : 'object'
    case 'array':
      return secret || !isSchema(schema['items']) ? 'json' : 'array'
    default:
      return 'json'
  }
}

function acceptsNull(schema: JsonSchema): boolean {
  const { type } = schema as { type?: unknown }
  if (type === 'null' || (Array.isArray(type) && type.includes('null')) || optionsOf(schema).includes(null)) return true
  return branchesOf(schema)?.some(acceptsNull) ?? false
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function hintOf(schema: JsonSchema, { default: fallback }: { readonly default?: unknown }): string {
  const {
    minimum,
    maximum,
    exclusiveMinimum,
    exclusiveMaximum,
    multipleOf,
    minLength,
    maxLength,
    minItems,
    maxItems,
    pattern,
    format,
    examples,
  } = schema as Record<string, unknown>
  const parts = [
    range(minimum, maximum, ''),
    typeof exclusiveMinimum === 'number' ? `more than ${exclusiveMinimum}` : null,
    typeof exclusiveMaximum === 'number' ? `less than ${exclusiveMaximum}` : null,
    typeof multipleOf === 'number' ? `a multiple of ${multipleOf}` : null,
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    typeof format === 'string' ? formatText(format) : null,
    Array.isArray(examples) && examples.length > 0 ? `for example ${JSON.stringify(examples[0])}` : null,
    typeof pattern === 'string' ? `matches the regular expression ${pattern}` : null,
    fallback === undefined ? null : `default ${JSON.stringify(fallback)}`,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

function range(least: unknown, most: unknown, unit: string): string | null {
  if (typeof least === 'number' && typeof most === 'number') return `${least} to ${most}${unit}`
  if (typeof least === 'number') return `at least ${least}${unit}`
  return typeof most === 'number' ? `at most ${most}${unit}` : null
}

/** The display text of an enumeration option. */
export const optionText = (option: JsonValue): string =>
  typeof option === 'string' && option !== '' ? option : JSON.stringify(option)

/**
 * What is known of a stored secret: the master returns the same mask for every value, so of several kinds the page
 * cannot know which one is set.
 */
export function storedSecretText({ branches }: Shape): string {
  const kinds = [...new Set(branches.filter(({ schema }) => schema['type'] !== 'null').map(({ title }) => title))]
  if (kinds.length === 0) return 'set'
  return kinds.length === 1
    ? `set: ${kinds[0]}`
    : `set: ${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)} (the master does not show which)`
}

/**
 * The initial value of an added node: its default, otherwise an empty value of its kind with all required constants.
 */
export function firstValue({ fallback, kind, options, fields, branches }: Shape): JsonValue {
  if (fallback !== undefined) return fallback
  switch (kind) {
    case 'boolean':
      return false
    case 'integer':
    case 'number':
      return 0
    case 'string':
      return ''
    case 'enum':
      return options[0] ?? null
    case 'object':
      return Object.fromEntries(
        fields
          .filter(({ required, shape }) => required && shape.options.length === 1)
          .map(({ name, shape }) => [name, shape.options[0] as JsonValue]),
      )
    case 'array':
      return []
    case 'union':
      return branches[0] === undefined ? null : firstValue(branches[0].shape)
    case 'json':
      return null
  }
}
