/**
 * @module master/http/openapi-schemas
 * Gives the shapes that have a name one place in the document: wherever one of them stands, a reference to it does.
 * Shapes are told by their content, as JSON: two that are alike are one.
 */
import type { TSchema } from 'typebox'

/** The name of a shape, by its JSON. */
type Names = ReadonlyMap<string, string>

/** @throws TypeError where two names mean the same shape. */
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

/** `value` with a reference in place of every named shape; a named shape that is defined under `schemas` stays at that place. */
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
