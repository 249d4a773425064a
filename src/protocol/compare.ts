/**
 * @module protocol/compare
 * Compares configs: two configs of one schema are equal if they have the same JSON value without their defaults.
 *
 * Leaving defaults out gives the same result as filling them in, and is bounded by the value itself: a schema of thirty
 * definitions can have a billion defaults. Defaults are found below `properties` and `items`, behind local references
 * too, but not inside combinators.
 */
import { propertiesOf, resolveLocal } from './config.ts'
import { isJsonObject, pointerStep, sameJson, type JsonObject, type JsonSchema, type JsonValue } from './json.ts'
import { MAX_JSON_DEPTH } from './limits.ts'

/** References that lead to references, at most; one behind more of them has no default. */
const MAX_HOPS = 16
/** For each field its default without its own defaults; undefined while that is being computed. */
type Defaults = Map<JsonSchema, JsonValue | undefined>
interface Reading {
  readonly root: JsonSchema
  readonly defaults: Defaults
}
/** One entry per schema, so that defaults are computed only once. */
const readings = new WeakMap<JsonSchema, Reading>()

/**
 * Removes the members of a config, at any depth, that have the default of their schema.
 *
 * @param schema The whole config schema.
 * @param config A config; it is not changed.
 * @returns a copy; empty if everything has its default.
 */
export function withoutDefaults(schema: JsonSchema, config: JsonObject): JsonObject {
  const reading = readings.get(schema) ?? { root: schema, defaults: new Map() }
  readings.set(schema, reading)
  return bare(config, schema, reading, 0) as JsonObject
}

function bare(value: JsonValue, schema: JsonSchema | undefined, reading: Reading, depth: number): JsonValue {
  if (schema === undefined || depth > MAX_JSON_DEPTH) return value
  if (Array.isArray(value)) {
    const items = find(schema, reading.root, (node) => node['items'])
    return value.map((each: JsonValue) => bare(each, items, reading, depth + 1))
  }
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).flatMap(([name, each]) => {
    const field = find(schema, reading.root, (node) => own(propertiesOf(node), name))
    const kept = bare(each, field, reading, depth + 1)
    return isDefault(each, kept, field, reading, depth) ? [] : [[name, kept] as const]
  })
  return Object.fromEntries(members)
}

function isDefault(
  value: JsonValue,
  kept: JsonValue,
  field: JsonSchema | undefined,
  reading: Reading,
  depth: number,
): boolean {
  const fallback = field?.['default'] as JsonValue | undefined
  if (field === undefined || fallback === undefined) return false
  if (sameJson(value, fallback)) return true
  const { defaults } = reading
  if (!defaults.has(field)) {
    defaults.set(field, undefined) // A default that contains itself is found while this one is being found out.
    defaults.set(field, bare(fallback, field, reading, depth + 1))
  }
  return sameJson(kept, defaults.get(field))
}

/** The first schema that `pick` finds at `schema` or behind its references. */
function find(schema: JsonSchema, root: JsonSchema, pick: (node: JsonSchema) => unknown): JsonSchema | undefined {
  let node: unknown = schema
  for (let hop = 0; hop < MAX_HOPS && isJsonObject(node); hop += 1) {
    const found = pick(node)
    if (isJsonObject(found)) return found
    const reference: JsonValue | undefined = node['$ref']
    node = typeof reference === 'string' ? resolveLocal(root, reference) : undefined
  }
  return undefined
}

function own(object: Readonly<Record<string, JsonSchema>>, name: string): JsonSchema | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * Finds where two values differ.
 *
 * @param a A value; undefined if it is absent.
 * @param b The value to compare it with.
 * @param at The pointer to both values; '' if omitted.
 * @returns JSON pointers of what differs by value, sorted; empty if nothing does. Objects are compared by member,
 *   anything else as a whole.
 */
export function differingPointers(a: JsonValue | undefined, b: JsonValue | undefined, at = ''): readonly string[] {
  if (sameJson(a, b)) return []
  if (!isJsonObject(a) || !isJsonObject(b)) return [at]
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted()
  return names.flatMap((name) => differingPointers(ownValue(a, name), ownValue(b, name), `${at}${pointerStep(name)}`))
}

const ownValue = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined
