/**
 * @module dashboard/config/fields
 * A Config schema as the fields of a form: simple types as inputs, everything else as JSON text. A field that holds a
 * secret which cannot be shown around the mask is replaced as a whole (D17, D52).
 */
import type { JsonSchema, JsonValue } from '../../protocol/index.ts'

type FieldKind = 'boolean' | 'integer' | 'number' | 'string' | 'enum' | 'json'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly title: string
  readonly description: string | null
  /** Bounds and default, in words; '' when there are none. */
  readonly hint: string
  readonly options: readonly JsonValue[]
  readonly required: boolean
  /** undefined: none. */
  readonly fallback: JsonValue | undefined
  /** null is a value of this field, not a way back to the default (D13). */
  readonly nullable: boolean
  readonly secret: boolean
}

/** What REST shows in the place of a secret (D17). The same word as in protocol, which the page takes types from alone. */
export const SECRET_MASK = '********'

export function fieldsOf(schema: JsonSchema): readonly Field[] {
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [])
  return Object.entries(propertiesOf(schema)).map(([name, own]) => fieldOf(name, own, required.has(name), schema))
}

function fieldOf(name: string, own: JsonSchema, required: boolean, root: JsonSchema): Field {
  const schema = resolved(own, root)
  const options = optionsOf(schema)
  const title = textOf(schema['title'])
  return {
    name, kind: kindOf(schema, options), title: title ?? name, description: textOf(schema['description']), hint: hintOf(schema), options,
    required: required && schema['default'] === undefined, fallback: schema['default'] as JsonValue | undefined,
    nullable: acceptsNull(schema), secret: isWholeSecret(own, root),
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null && !Array.isArray(value)
const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> => (isSchema(schema['properties']) ? (schema['properties'] as Record<string, JsonSchema>) : {})

/** `enum`, `const`, and unions of constants, which is how TypeBox writes an enumeration; empty: not an enumeration. */
function optionsOf(schema: JsonSchema): readonly JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'] as JsonValue[]
  if (Object.hasOwn(schema, 'const')) return [schema['const'] as JsonValue]
  const branches = schema['anyOf'] ?? schema['oneOf']
  if (!Array.isArray(branches) || !branches.every((branch) => isSchema(branch) && Object.hasOwn(branch, 'const'))) return []
  return (branches as JsonSchema[]).map((branch) => branch['const'] as JsonValue)
}

function kindOf(schema: JsonSchema, options: readonly JsonValue[]): FieldKind {
  if (options.length > 0) return 'enum'
  const { type } = schema as { type?: unknown }
  return type === 'boolean' || type === 'integer' || type === 'number' || type === 'string' ? type : 'json'
}

function acceptsNull(schema: JsonSchema): boolean {
  const { type } = schema as { type?: unknown }
  if (type === 'null' || (Array.isArray(type) && type.includes('null')) || optionsOf(schema).includes(null)) return true
  const branches = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(branches) && branches.some((branch) => isSchema(branch) && acceptsNull(branch))
}

function hintOf(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern, format } = schema as Record<string, unknown>
  const parts = [
    range(minimum, maximum, ''), typeof exclusiveMinimum === 'number' ? `more than ${exclusiveMinimum}` : null, typeof exclusiveMaximum === 'number' ? `less than ${exclusiveMaximum}` : null,
    range(minLength, maxLength, ' characters'), typeof format === 'string' ? `format ${format}` : null, typeof pattern === 'string' ? `pattern ${pattern}` : null,
    schema['default'] === undefined ? null : `default ${JSON.stringify(schema['default'])}`,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

function range(least: unknown, most: unknown, unit: string): string | null {
  if (typeof least === 'number' && typeof most === 'number') return `${least} to ${most}${unit}`
  if (typeof least === 'number') return `at least ${least}${unit}`
  return typeof most === 'number' ? `at most ${most}${unit}` : null
}

/** Secret as a whole: `writeOnly` itself, or a secret inside an array or combinator. One inside plain objects is masked where it stands. */
function isWholeSecret(schema: JsonSchema, root: JsonSchema): boolean {
  if (schema['writeOnly'] === true) return true
  const { properties: _, ...others } = schema
  return mentionsSecret(others, root, new Set()) || Object.values(propertiesOf(schema)).some((child) => child['writeOnly'] !== true && isWholeSecret(child, root))
}

/** Whether a secret stands anywhere below, local references followed. */
function mentionsSecret(node: unknown, root: JsonSchema, seen: Set<unknown>): boolean {
  if (typeof node !== 'object' || node === null || seen.has(node)) return false
  seen.add(node)
  const schema = node as JsonSchema
  if (schema['writeOnly'] === true) return true
  const target = targetOf(schema, root)
  if (target !== undefined && mentionsSecret(target, root, seen)) return true
  return Object.entries(schema).some(([keyword, child]) => keyword !== '$defs' && mentionsSecret(child, root, seen))
}

/** A field that only refers to a definition, with what it says beside the reference; one step, since more is no simple field. */
function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const target = targetOf(schema, root)
  if (target === undefined) return schema
  const { $ref: _, ...beside } = schema
  return { ...target, ...beside }
}

function targetOf(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  const reference = schema['$ref']
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  const steps = reference.slice(2).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const target = steps.reduce<unknown>((node, step) => (isSchema(node) ? node[step] : undefined), root)
  return isSchema(target) ? target : undefined
}
