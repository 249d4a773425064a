/**
 * @module master/http/query
 * The query string against its schema. Text becomes a number or a boolean only where the schema asks for one and only
 * from its plain form: "1.5" or "1e3" for an integer, " 5", "+5" and a repeated parameter are faults that name the
 * field, never something close (D9). A field of type array takes the parameter as often as it stands. Parameters that
 * the schema does not know are ignored: proxies and caches add some.
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

/** Compiles the schema of a query, an object of scalar fields and of arrays of them. */
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

/** What is not in its plain form stays text, and the schema refuses it by name. */
function fromText(text: string, type: unknown): unknown {
  if (type === 'integer' && PLAIN_INTEGER.test(text)) return Number(text)
  if (type === 'number' && PLAIN_NUMBER.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
