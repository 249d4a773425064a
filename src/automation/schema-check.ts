/**
 * @module automation/schema-check
 * Checks whether a schema compiles, and reports each fault with its JSON pointer. The validator itself rejects unknown
 * keywords, unknown formats, and patterns that are not linear-time. This module also rejects schemas whose check could
 * take very long: references that leave the schema or form a cycle, unbounded `uniqueItems`, and schemas above the
 * size limit. TypeBox features that JSON Schema cannot express are rejected, not silently dropped.
 */
import { compileValidator, MAX_JSON_DEPTH, pointerStep, type JsonSchema } from '../protocol/index.ts'

export interface SchemaFault {
  /** JSON pointer into the schema. */
  readonly pointer: string
  readonly problem: string
}

const MAX_SCHEMA_BYTES = 262_144
/** Bounds the memory and time of the search for duplicates, which serializes each element. */
const MAX_UNIQUE_ITEMS = 1_000

/** Keywords that contain schemas. All others (`default`, `const`, `enum`, `examples`) contain data. */
const SINGLE = [
  'items',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'contentSchema',
]
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions']
/** Keywords that apply to the same value: a cycle of them never ends. */
const IN_PLACE = new Set(['not', 'if', 'then', 'else', 'allOf', 'anyOf', 'oneOf', 'dependentSchemas', 'dependencies'])

interface Child {
  readonly keyword: string
  readonly pointer: string
  readonly schema: JsonSchema
}
type Located = Pick<Child, 'pointer' | 'schema'>

type PlainSchema =
  | { readonly kind: 'plain'; readonly schema: JsonSchema }
  | { readonly kind: 'invalid'; readonly faults: readonly SchemaFault[] }

/**
 * Copies the schema as plain JSON, without the markers of TypeBox. @returns the copy, or the faults that prevent it.
 */
export function plainSchema(schema: object): PlainSchema {
  const whole = (problem: string): PlainSchema => ({ kind: 'invalid', faults: [{ pointer: '', problem }] })
  const text = jsonOf(schema)
  if (text === undefined) return whole('is not JSON, or contains itself')
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) return whole(`is larger than ${MAX_SCHEMA_BYTES / 1_024} KiB`)
  const plain = JSON.parse(text) as JsonSchema
  if (depthOf(plain) > MAX_JSON_DEPTH) return whole(`is nested deeper than ${MAX_JSON_DEPTH} levels`)
  const lost = marks(schema, '')
  return lost.length > 0 ? { kind: 'invalid', faults: lost } : { kind: 'plain', schema: plain }
}

/** @returns all faults of a plain schema; empty when it compiles. */
export function schemaFaults(schema: JsonSchema): readonly SchemaFault[] {
  const nodes = [...everySchema({ pointer: '', schema })]
  const faults = nodes.flatMap((node) => nodeFaults(node, schema))
  if (faults.length > 0) return faults
  const circle = nodes.find((node) => returnsToItself(node.schema, schema))
  if (circle !== undefined)
    return [{ pointer: circle.pointer, problem: 'refers to itself for the same value, so checking would never end' }]
  const problem = compileProblem(schema)
  if (problem === undefined) return []
  const found = nodes.flatMap(({ pointer, schema: node }) => {
    const own = compileProblem(withoutChildren(node))
    return own === undefined ? [] : [{ pointer, problem: own }]
  })
  return found.length > 0 ? found : [{ pointer: '', problem }]
}

/** @returns the value of `keyword` and the JSON pointer, for each subschema that has it. */
export function keywordsIn(
  schema: JsonSchema,
  keyword: string,
): readonly { readonly pointer: string; readonly value: unknown }[] {
  return [...everySchema({ pointer: '', schema })]
    .filter((node) => Object.hasOwn(node.schema, keyword))
    .map((node) => ({ pointer: node.pointer, value: node.schema[keyword] }))
}

/** Measures the depth, and stops at the limit. */
function depthOf(value: unknown, level = 0): number {
  if (typeof value !== 'object' || value === null || level > MAX_JSON_DEPTH) return level
  return Object.values(value).reduce<number>(
    (deepest, child) => Math.max(deepest, depthOf(child, level + 1)),
    level + 1,
  )
}

function jsonOf(schema: object): string | undefined {
  try {
    return JSON.stringify(schema)
  } catch {
    return undefined // A BigInt, a cycle, or too deep for the stack. The caller reports it.
  }
}

/** TypeBox stores code in hidden fields of the schema, which Ajv would never run. */
function marks(value: unknown, pointer: string): readonly SchemaFault[] {
  if (typeof value === 'function') return [{ pointer, problem: 'is a function; a schema is plain JSON' }]
  if (typeof value !== 'object' || value === null) return []
  const own = ['~refine', '~codec']
    .filter((mark) => Object.hasOwn(value, mark))
    .map((mark) => ({
      pointer,
      problem: `uses Type.${mark === '~refine' ? 'Refine' : 'Codec'}, which JSON Schema cannot say; check it in run`,
    }))
  return [...own, ...Object.entries(value).flatMap(([key, child]) => marks(child, `${pointer}${pointerStep(key)}`))]
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function* children({ pointer, schema }: Located): Generator<Child> {
  for (const keyword of SINGLE) {
    const child = schema[keyword]
    if (isSchema(child)) yield { keyword, pointer: `${pointer}/${keyword}`, schema: child }
  }
  for (const keyword of [...LISTS, ...MAPS]) {
    const group = schema[keyword]
    if (typeof group !== 'object' || group === null) continue
    for (const [key, child] of Object.entries(group)) {
      if (isSchema(child)) yield { keyword, pointer: `${pointer}/${keyword}${pointerStep(key)}`, schema: child }
    }
  }
}

function* everySchema(root: Located): Generator<Located> {
  yield root
  for (const child of children(root)) yield* everySchema(child)
}

function nodeFaults({ pointer, schema }: Located, root: JsonSchema): readonly SchemaFault[] {
  const faults: SchemaFault[] = []
  const add = (keyword: string, problem: string): void =>
    void faults.push({ pointer: `${pointer}/${keyword}`, problem })
  for (const keyword of ['$ref', '$dynamicRef']) {
    const reference = schema[keyword]
    if (typeof reference === 'string' && !reference.startsWith('#'))
      add(keyword, `"${reference}" leads out of this schema; nothing is fetched`)
    else if (typeof reference === 'string' && /^#(?:\/|$)/.test(reference) && resolve(root, reference) === undefined)
      add(keyword, `"${reference}" leads nowhere`)
  }
  if ('$async' in schema) add('$async', 'is not part of JSON Schema')
  if (schema['uniqueItems'] === true && !((schema['maxItems'] as number) <= MAX_UNIQUE_ITEMS))
    add('uniqueItems', `needs maxItems of at most ${MAX_UNIQUE_ITEMS}`)
  if (typeof schema['pattern'] === 'string' && !runsInLinearTime(schema['pattern'])) add('pattern', UNSAFE_PATTERN)
  for (const pattern of isSchema(schema['patternProperties']) ? Object.keys(schema['patternProperties']) : []) {
    if (!runsInLinearTime(pattern)) add(`patternProperties${pointerStep(pattern)}`, UNSAFE_PATTERN)
  }
  return faults
}

const UNSAFE_PATTERN =
  'is no pattern that runs in linear time: look-around, back-references and large repeats are refused'
const runsInLinearTime = (pattern: string): boolean => compileProblem({ type: 'string', pattern }) === undefined

function compileProblem(schema: JsonSchema): string | undefined {
  try {
    compileValidator(schema)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^strict mode: /, '') : String(error)
  }
}

/** @returns only the schema's own keywords, so that a compile error is attributed to this schema. */
function withoutChildren(schema: JsonSchema): JsonSchema {
  const emptied = (keyword: string, value: unknown): unknown => {
    if (SINGLE.includes(keyword)) return isSchema(value) ? true : value
    if (LISTS.includes(keyword)) return Array.isArray(value) ? value.map(() => true) : value
    if (MAPS.includes(keyword))
      return isSchema(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, true])) : value
    return value
  }
  const own = Object.entries(schema).filter(([keyword]) => keyword !== '$ref' && keyword !== '$dynamicRef')
  return Object.fromEntries(own.map(([keyword, value]) => [keyword, emptied(keyword, value)]))
}

function resolve(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined
  const steps = reference
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  const found = steps.reduce<unknown>(
    (node, step) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, step) ? (node as JsonSchema)[step] : undefined,
    root,
  )
  return isSchema(found) ? found : undefined
}

/** @returns whether checking a value against `start` leads back to `start` for the same value. */
function returnsToItself(start: JsonSchema, root: JsonSchema): boolean {
  const seen = new Set<JsonSchema>()
  const reaches = (schema: JsonSchema): boolean =>
    sameValueSchemas(schema, root).some((next) => {
      if (next === start) return true
      if (seen.has(next)) return false
      seen.add(next)
      return reaches(next)
    })
  return reaches(start)
}

function sameValueSchemas(schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const below = [...children({ pointer: '', schema })]
    .filter(({ keyword }) => IN_PLACE.has(keyword))
    .map((child) => child.schema)
  const targets = [schema['$ref'], schema['$dynamicRef']].map((reference) =>
    typeof reference === 'string' ? resolve(root, reference) : undefined,
  )
  return [...below, ...targets.filter((target) => target !== undefined)]
}
