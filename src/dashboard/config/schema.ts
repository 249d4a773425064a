/**
 * @module dashboard/config/schema
 * Reads JSON Schemas without code generation: local references, unions, nullable types and secrets.
 */
import type { JsonSchema, JsonValue } from '../../protocol/index.ts'

/**
 * The mask that REST shows instead of a secret (D17). Copied, because the dashboard imports only types from protocol.
 */
export const SECRET_MASK = '********'

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const { properties } = schema as { properties?: unknown }
  return isSchema(properties)
    ? Object.fromEntries(
        Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isSchema(entry[1])),
      )
    : {}
}

export const requiredOf = (schema: JsonSchema): ReadonlySet<unknown> =>
  new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [])

/** One step of a JSON pointer with its leading slash. @see RFC 6901 section 3 */
export const pointerStep = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The keys of a JSON pointer. */
export const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

export function targetOf(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  const reference = schema['$ref']
  if (reference === '#') return root
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  const target = stepsOf(reference.slice(1)).reduce<unknown>(
    (node, step) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, step) ? (node as JsonSchema)[step] : undefined,
    root,
  )
  return isSchema(target) ? target : undefined
}

/** The branches of `anyOf` or `oneOf`; null if the schema is not a union of schemas. */
export function branchesOf(schema: JsonSchema): readonly JsonSchema[] | null {
  const branches = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(branches) && branches.every(isSchema) ? branches : null
}

/** The values of `enum`, `const` or a union of constants (as TypeBox writes enumerations); empty for other schemas. */
export function optionsOf(schema: JsonSchema): readonly JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'] as JsonValue[]
  if (Object.hasOwn(schema, 'const')) return [schema['const'] as JsonValue]
  const branches = branchesOf(schema)
  return branches?.every((branch) => Object.hasOwn(branch, 'const')) === true
    ? branches.map((branch) => branch['const'] as JsonValue)
    : []
}

/**
 * Whether the master masks the whole value: it is `writeOnly`, or contains a secret inside an array or combinator.
 * Secrets inside plain objects are masked individually (D52).
 */
export function isWholeSecret(schema: JsonSchema, root: JsonSchema): boolean {
  if (schema['writeOnly'] === true) return true
  const { properties: _, ...others } = schema
  return (
    mentionsSecret(others, root, new Set()) ||
    Object.values(propertiesOf(schema)).some((child) => child['writeOnly'] !== true && isWholeSecret(child, root))
  )
}

/** Whether the schema contains a secret at any depth, including through local references. */
function mentionsSecret(node: unknown, root: JsonSchema, seen: Set<unknown>): boolean {
  if (typeof node !== 'object' || node === null || seen.has(node)) return false
  seen.add(node)
  const schema = node as JsonSchema
  if (schema['writeOnly'] === true) return true
  const target = targetOf(schema, root)
  if (target !== undefined && mentionsSecret(target, root, seen)) return true
  return Object.entries(schema).some(([keyword, child]) => keyword !== '$defs' && mentionsSecret(child, root, seen))
}
