/**
 * @module protocol/validator
 * Compiles JSON Schema 2020-12 into validators, one per content of a schema, because every compilation keeps memory
 * forever. Duplicate items and allowed values are found in linear time. Patterns run on a linear-time engine, so a
 * hostile pattern cannot stall the process. The patterns of Muster itself cannot backtrack and run on the engine of the
 * language, which is far faster: every settled task has a name to check. An unsafe schema (look-ahead, back-reference,
 * remote reference) does not compile.
 */
import { createHash } from 'node:crypto'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'
import { RE2JS } from 're2js'
import { BOUND_TO } from './bound-secrets.ts'
import type { FieldError } from './errors.ts'
import { pointerStep, sortedJsonText, type JsonSchema } from './json.ts'
import { MAX_FIELD_ERRORS } from './limits.ts'
import { OWN_PATTERNS } from './names.ts'

/** Returns the faults of a value, at most 100; empty if it is valid. Does not change the value. */
export type Validator = (value: unknown) => readonly FieldError[]

class LinearRegExp {
  readonly source: string
  readonly #pattern: RE2JS
  constructor(source: string) {
    this.source = source
    this.#pattern = RE2JS.compile(RE2JS.translateRegExp(source))
  }
  test(text: string): boolean {
    return this.#pattern.matcher(text).find()
  }
  toString(): string {
    return `/${this.source}/`
  }
}

const linear = Object.assign(
  (source: string) => (OWN_PATTERNS.has(source) ? new RegExp(source, 'u') : new LinearRegExp(source)),
  { code: 'new LinearRegExp' },
)

/**
 * Maximum number of references that one validation follows. A body has at most 100,000 values, so one reference per
 * value is within the limit. Without it, a schema with the same reference in two alternatives would double the work
 * with each level of the value: 64 levels would never end.
 */
const MAX_REFERENCES = 200_000
const COUNTED = 'x-muster-counted'
let followedReferences = 0
class TooComplex extends Error {}

/** Creating it takes a tenth of a second, which a process that validates nothing does not spend. */
function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
    validateSchema: true,
    addUsedSchema: false,
    code: { regExp: linear },
  })
  addFormats.default(ajv)
  ajv.addKeyword({ keyword: BOUND_TO, metaSchema: { type: 'array', items: { type: 'string' }, minItems: 1 } })
  // Half a surrogate pair survives JSON, but has no UTF-8 form: no store keeps it, and two names could become one.
  ajv.addFormat('well-formed', { type: 'string', validate: (text) => text.isWellFormed() })
  // Replaces the keyword of Ajv, which compares each item with all others, even beyond `maxItems` (`allErrors` is on).
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (isUnique: boolean) => {
      const check: DataValidateFunction = (items: readonly unknown[]) => {
        const same = isUnique ? duplicateOf(items) : null
        check.errors = same === null ? [] : [{ keyword: 'uniqueItems', params: same, message: duplicateMessage(same) }]
        return same === null
      }
      return check
    },
  })
  // Replaces the keyword of Ajv, which compares a value with all allowed ones, each time with all of its keys.
  ajv.removeKeyword('enum')
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    before: 'not', // Its place in Ajv, which decides the order of faults.
    compile: (allowedValues: readonly unknown[]) => {
      if (allowedValues.length === 0) throw new Error('enum must have non-empty array')
      const scalars = new Set(allowedValues.filter((each) => typeof each !== 'object'))
      const others = new Set(allowedValues.filter((each) => typeof each === 'object').map(sortedJsonText))
      const check: DataValidateFunction = (value: unknown) => {
        const isAllowed =
          typeof value === 'object' ? others.size > 0 && others.has(sortedJsonText(value)) : scalars.has(value)
        check.errors = isAllowed ? [] : [{ keyword: 'enum', params: { allowedValues }, message: ENUM_MESSAGE }]
        return isAllowed
      }
      return check
    },
  })
  ajv.addKeyword({
    keyword: COUNTED,
    schemaType: 'boolean',
    errors: false,
    validate: () => {
      followedReferences += 1
      if (followedReferences > MAX_REFERENCES) throw new TooComplex()
      return true
    },
  })
  return ajv
}
const ENUM_MESSAGE = 'must be equal to one of the allowed values'
let instance: Ajv2020 | undefined

/** Keywords that contain data, not schemas. */
const DATA_KEYWORDS = new Set(['default', 'const', 'enum', 'examples'])
/** Keywords that contain a map of names to schemas. All others contain a schema, a list of schemas, or a scalar. */
const MAP_KEYWORDS = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])

const compiled = new Map<string, Validator>()

/**
 * Compiles a schema, or returns the validator of an equal one.
 *
 * @param schema A JSON Schema 2020-12 object.
 * @returns a validator, which may be called any number of times.
 * @throws {Error} whose message says why the schema does not compile.
 */
export function compileValidator(schema: JsonSchema | object): Validator {
  const key = createHash('sha256').update(JSON.stringify(schema)).digest('base64')
  const known = compiled.get(key)
  if (known !== undefined) return known
  const check = (instance ??= createAjv()).compile(withCountedReferences(structuredClone(schema)) as object)
  const validator: Validator = (value) => {
    followedReferences = 0
    try {
      return check(value)
        ? []
        : withoutNullBranch(check.errors ?? [])
            .slice(0, MAX_FIELD_ERRORS)
            .map(toFieldError)
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error
      const message = `is too complex for its schema: more than ${MAX_REFERENCES} references would be followed`
      return [{ path: '', message, keyword: '$ref', params: {} }]
    }
  }
  compiled.set(key, validator)
  return validator
}

/**
 * Defers the compilation of a schema, which must be one of Muster itself.
 *
 * @returns a validator that compiles the schema at its first use.
 */
export function lazyValidator(schema: object): Validator {
  let validate: Validator | undefined
  return (value) => (validate ??= compileValidator(schema))(value)
}

/** Returns a copy of a schema whose validator counts the references that it follows. */
function withCountedReferences(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(withCountedReferences)
  const entries = Object.entries(schema).map(([keyword, child]: [string, unknown]) => {
    if (DATA_KEYWORDS.has(keyword)) return [keyword, child] as const
    if (!MAP_KEYWORDS.has(keyword) || typeof child !== 'object' || child === null)
      return [keyword, withCountedReferences(child)] as const
    const named = Object.entries(child).map(([name, each]) => [name, withCountedReferences(each)] as const)
    return [keyword, Object.fromEntries(named)] as const
  })
  const hasReference = Object.hasOwn(schema, '$ref') || Object.hasOwn(schema, '$dynamicRef')
  return Object.fromEntries(hasReference ? [...entries, [COUNTED, true] as const] : entries)
}

interface Duplicate {
  readonly i: number
  readonly j: number
}

/** Finds the first item that equals an earlier one. @returns their indexes as in Ajv: `j` is the earlier one. */
function duplicateOf(items: readonly unknown[]): Duplicate | null {
  const seen = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const text = sortedJsonText(item)
    const j = seen.get(text)
    if (j !== undefined) return { i, j }
    seen.set(text, i)
  }
  return null
}

const duplicateMessage = ({ i, j }: Duplicate): string =>
  `must NOT have duplicate items (items ## ${j} and ${i} are identical)`

/**
 * Removes `must be null` from the faults of a field that is a value or null: it does not help a client that sent
 * another value.
 */
function withoutNullBranch(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const isNullBranch = ({ keyword, params, schemaPath }: ErrorObject): boolean =>
    keyword === 'type' && params['type'] === 'null' && schemaPath.endsWith('/anyOf/1/type')
  const nullable = new Set(errors.filter(isNullBranch).map(({ instancePath }) => instancePath))
  if (nullable.size === 0) return errors
  return errors.filter(
    (error) => !isNullBranch(error) && !(error.keyword === 'anyOf' && nullable.has(error.instancePath)),
  )
}

/** Converts a fault. The pointer names the field itself, also where the field is missing or unknown. */
function toFieldError({ instancePath, keyword, params, message }: ErrorObject): FieldError {
  const named: unknown = params['additionalProperty'] ?? params['missingProperty'] ?? params['unevaluatedProperty']
  const path = typeof named === 'string' ? `${instancePath}${pointerStep(named)}` : instancePath
  return { path, message: sentence(keyword, params, message), keyword, params }
}

function sentence(keyword: string, params: Record<string, unknown>, message: string | undefined): string {
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not a known field'
    case 'required':
      return 'is required'
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).map((each) => JSON.stringify(each)).join(', ')}`
    default:
      return message ?? keyword
  }
}
