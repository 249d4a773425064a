/**
 * @module master/http/query
 * Parses the query string by its schema. Text becomes a number or a boolean only if the schema requires that type, and
 * only in its plain form. For an integer, "1.5", "1e3", " 5", "+5" and a repeated parameter are faults that name the
 * field; values are never guessed (D9). A field of type array takes a repeated parameter. Parameters that the schema
 * does not have are ignored, because proxies and caches add some.
 */
import type { TSchema } from 'typebox'
import { compileValidator, FleetError, invalid, type JsonSchema } from '../../protocol/index.ts'

export type QueryReader = (search: string) => Readonly<Record<string, unknown>>

interface Field extends JsonSchema {
  readonly type?: unknown
  readonly default?: unknown
  readonly items?: Field
}

const PLAIN_INTEGER = /^-?\d+$/
const PLAIN_NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/ // Java and Go write large doubles with an exponent.

/** Compiles the schema of a query: an object of scalar fields and of arrays of scalars. */
export function queryReader(schema: TSchema): QueryReader {
  const validate = compileValidator(schema)
  const fields = Object.entries(((schema as JsonSchema)['properties'] ?? {}) as Record<string, Field>)
  return (search) => {
    const parameters = new URLSearchParams(search)
    const query: Record<string, unknown> = {}
    for (const [name, field] of fields) {
      const value = valueOf(name, field, parameters.getAll(name))
      if (value !== undefined) query[name] = value
    }
    const faults = validate(query)
    if (faults.length > 0) throw new FleetError('INVALID', faults)
    return query
  }
}

function valueOf(name: string, field: Field, texts: readonly string[]): unknown {
  const [text, ...more] = texts
  if (text === undefined) return field.default
  if (field.type === 'array') return texts.map((each) => fromText(each, field.items?.type))
  if (more.length > 0) throw invalid(`/${name}`, 'appears more than once in the query', 'repeated')
  return fromText(text, field.type)
}

/** Text that is not in plain form stays text, so that the schema rejects the field. */
function fromText(text: string, type: unknown): unknown {
  if (type === 'integer' && PLAIN_INTEGER.test(text)) return Number(text)
  if (type === 'number' && PLAIN_NUMBER.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
