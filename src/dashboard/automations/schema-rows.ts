/**
 * @module dashboard/automations/schema-rows
 * Converts a JSON Schema to table rows: one per field, nested fields below their object. Follows local references and
 * stops at circular ones. Keywords that the table does not show are in the JSON next to it.
 */
import { isWholeSecret } from '../config/schema.ts'
import type { JsonSchema } from '../../protocol/index.ts'

export interface SchemaRow {
  /** `proxy.host`, `targets[].url`. */
  readonly path: string
  readonly depth: number
  readonly type: string
  readonly required: boolean
  /** The value is never shown (D17, D52): it is write-only, or has a secret in a list or a union. */
  readonly secret: boolean
  readonly deprecated: boolean
  readonly rules: readonly string[]
  /** The default value as JSON; null if there is none. */
  readonly fallback: string | null
  readonly about: string | null
}

/** Limit of rows. The complete schema is in its JSON. */
const MOST_ROWS = 400
const MOST_DEPTH = 8

export function rowsOf(schema: JsonSchema): readonly SchemaRow[] {
  const rows: SchemaRow[] = []
  addProperties(rows, resolved(schema, schema), { root: schema, prefix: '', depth: 0, above: [] })
  return rows
}

interface SchemaContext {
  readonly root: JsonSchema
  readonly prefix: string
  readonly depth: number
  readonly above: readonly JsonSchema[]
}

function addProperties(rows: SchemaRow[], schema: JsonSchema, context: SchemaContext): void {
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  for (const [name, child] of Object.entries(isSchema(schema['properties']) ? schema['properties'] : {})) {
    if (rows.length >= MOST_ROWS) return
    if (isSchema(child))
      addField(
        rows,
        child,
        { ...context, prefix: context.prefix === '' ? name : `${context.prefix}.${name}` },
        required.includes(name),
      )
  }
}

function addField(rows: SchemaRow[], unresolved: JsonSchema, context: SchemaContext, required: boolean): void {
  const { root, prefix, depth, above } = context
  const schema = resolved(unresolved, root)
  const { title, description, default: fallback } = schema
  rows.push({
    path: prefix,
    depth,
    required,
    type: typeText(schema, root),
    rules: rulesOf(schema),
    secret: isWholeSecret(unresolved, root),
    deprecated: schema['deprecated'] === true,
    fallback: fallback === undefined ? null : JSON.stringify(fallback),
    about: [title, description].filter((part) => typeof part === 'string').join('. ') || null,
  })
  if (depth + 1 >= MOST_DEPTH || above.includes(schema)) return
  const deeper: SchemaContext = { ...context, depth: depth + 1, above: [...above, schema] }
  addProperties(rows, schema, deeper)
  const items = isSchema(schema['items']) ? resolved(schema['items'], root) : undefined
  if (items !== undefined && !above.includes(items))
    addProperties(rows, items, { ...deeper, prefix: `${prefix}[]`, above: [...deeper.above, items] })
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `string`, `list of integer`, `"a" | "b"`, `string or null`. */
export function typeText(unresolved: JsonSchema, root: JsonSchema, depth = 0): string {
  const schema = resolved(unresolved, root)
  if (depth > 3) return 'any value'
  const { type, items } = schema
  if (Object.hasOwn(schema, 'const')) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['enum'])) return oneOf(schema['enum'].map((each) => JSON.stringify(each)))
  const branches = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(branches))
    return oneOf(branches.map((branch) => (isSchema(branch) ? typeText(branch, root, depth + 1) : 'any value')))
  if (Array.isArray(type)) return type.map(String).join(' or ')
  if (type === 'array') return isSchema(items) ? `list of ${typeText(items, root, depth + 1)}` : 'list'
  if (typeof type === 'string') return type
  return isSchema(schema['properties']) ? 'object' : 'any value'
}

function oneOf(names: readonly string[]): string {
  const unique = [...new Set(names)]
  return unique.length <= 12 ? unique.join(' | ') : `${unique.slice(0, 12).join(' | ')} | … (${unique.length})`
}

const BOUNDS: readonly (readonly [least: string, most: string, unit: string])[] = [
  ['minimum', 'maximum', ''],
  ['exclusiveMinimum', 'exclusiveMaximum', ' exclusive'],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
  ['minProperties', 'maxProperties', ' fields'],
]

function rulesOf(schema: JsonSchema): readonly string[] {
  const bounds = BOUNDS.map(([least, most, unit]) => boundText(schema[least], schema[most], unit))
  const { pattern, format, multipleOf, uniqueItems, additionalProperties } = schema
  return [
    ...bounds,
    typeof multipleOf === 'number' ? `a multiple of ${multipleOf}` : '',
    typeof format === 'string' ? `format ${format}` : '',
    typeof pattern === 'string' ? `pattern ${pattern}` : '',
    uniqueItems === true ? 'unique items' : '',
    additionalProperties === false && isSchema(schema['properties']) ? 'no other fields' : '',
  ].filter((rule) => rule !== '')
}

function boundText(least: unknown, most: unknown, unit: string): string {
  if (typeof least === 'number' && typeof most === 'number') return `${least} to ${most}${unit}`
  if (typeof least === 'number') return `at least ${least}${unit}`
  return typeof most === 'number' ? `at most ${most}${unit}` : ''
}

/** Resolves a local reference and merges its sibling keywords. Returns any other schema unchanged. */
function resolved(schema: JsonSchema, root: JsonSchema, steps = 0): JsonSchema {
  const reference = schema['$ref']
  if (typeof reference !== 'string' || steps > 8 || !(reference === '#' || reference.startsWith('#/'))) return schema
  const path = reference
    .slice(2)
    .split('/')
    .filter((step) => step !== '')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const target = path.reduce<unknown>(
    (node, step) => (isSchema(node) && Object.hasOwn(node, step) ? node[step] : undefined),
    root,
  )
  if (!isSchema(target)) return schema
  const { $ref: _, ...beside } = schema
  const found = resolved(target, root, steps + 1)
  return Object.keys(beside).length === 0 ? found : { ...found, ...beside }
}
