/**
 * @module master/http/openapi-schemas
 * Replaces named schemas by references to one definition. Schemas are compared by their content, as JSON: two equal
 * schemas are the same one.
 */
import type { TSchema } from 'typebox'

/** The names of schemas, by their JSON. */
type Names = ReadonlyMap<string, string>

/** @throws {TypeError} if two names have the same schema. */
export function namedSchemas(objects: Readonly<Record<string, TSchema>>): Names {
  const names = new Map<string, string>()
  for (const [name, schema] of Object.entries(objects)) {
    const text = JSON.stringify(schema)
    const other = names.get(text)
    if (other !== undefined) throw new TypeError(`the shapes ${other} and ${name} are one and the same`)
    names.set(text, name)
  }
  return names
}

/** Replaces every named schema in `value` by a reference. The definitions under `schemas` are kept. */
export function named(value: unknown, names: Names, defining = false): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => named(each, names))
  const name = defining ? undefined : names.get(JSON.stringify(value))
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  const isDefinitions = (key: string): boolean => key === 'schemas'
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      isDefinitions(key) ? definitions(each as object, names) : named(each, names),
    ]),
  )
}

const definitions = (schemas: object, names: Names): object =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, named(schema, names, true)]))
