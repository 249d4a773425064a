/**
 * @module dashboard/config/validator
 * Validates a value against the subset of JSON Schema that forms support. It interprets the schema, because the content
 * security policy forbids generated code. It is never stricter than the master, whose validation is authoritative
 * (D49): unknown keywords, formats and expensive patterns pass. Messages contain the expected and actual value, except
 * of secrets.
 */
import type { FieldError, JsonSchema, JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import { plural } from '../components/numbers.ts'
import { isSchema, pointerStep, propertiesOf, requiredOf, SECRET_MASK, targetOf } from './schema.ts'

const MAX_FAULTS = 100
const MAX_DEPTH = 64
/** Longer texts are not matched, because a hostile pattern could block the page. */
const MAX_PATTERN_CHARACTERS = 4_096
const SHOWN_CHARACTERS = 60

interface Position {
  readonly root: JsonSchema
  readonly path: string
  readonly depth: number
  readonly isSecret: boolean
}
type Check = (schema: JsonSchema, value: JsonValue, position: Position) => readonly FieldError[]

/**
 * Validates a value.
 * @param root The document that local references resolve in.
 * @returns at most 100 errors; empty if no error was found.
 */
export const validate = (
  schema: JsonSchema,
  value: JsonValue | undefined,
  root: JsonSchema = schema,
): readonly FieldError[] =>
  value === undefined
    ? [fault('', 'expected a value, got nothing', 'required')]
    : faultsAt(schema, value, { root, path: '', depth: 0, isSecret: false }).slice(0, MAX_FAULTS)

const fault = (path: string, message: string, keyword: string): FieldError => ({ path, message, keyword, params: {} })

function faultsAt(schema: unknown, value: JsonValue, from: Position): readonly FieldError[] {
  const position = { ...from, isSecret: from.isSecret || isSecret(schema) }
  if (schema === false) return [fault(position.path, 'is not a known field', 'additionalProperties')]
  if (!isSchema(schema) || position.depth > MAX_DEPTH) return []
  if (schema['writeOnly'] === true && value === SECRET_MASK) return [] // Keeps the stored secret (D17).
  const { $ref: reference } = schema
  const ofTarget = reference === undefined ? [] : faultsAt(targetOf(schema, position.root), value, deeper(position))
  const ofType = typeFault(schema, value, position)
  return [...ofTarget, ...(ofType.length > 0 ? ofType : CHECKS.flatMap((check) => check(schema, value, position)))]
}

/** Whether the schema or one of its branches or items is a secret. */
const isSecret = (schema: unknown): boolean =>
  isSchema(schema) &&
  [schema, schema['anyOf'], schema['oneOf'], schema['items']]
    .flat()
    .some((each) => isSchema(each) && each['writeOnly'] === true)

const deeper = (position: Position, step = ''): Position => ({
  ...position,
  path: position.path + step,
  depth: position.depth + 1,
})

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function typeFault({ type }: { readonly type?: unknown }, value: JsonValue, position: Position): readonly FieldError[] {
  const types = (Array.isArray(type) ? type : [type]).filter(
    (each): each is string => typeof each === 'string' && Object.hasOwn(TYPE_WORDS, each),
  )
  if (types.length === 0 || types.some((each) => isOfType(value, each))) return []
  return [
    fault(
      position.path,
      `expected ${types.map((each) => TYPE_WORDS[each]).join(' or ')}, got ${shown(value, position)}`,
      'type',
    ),
  ]
}

function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isSchema(value)
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function shown(value: JsonValue, { isSecret: hides }: Position): string {
  if (hides) return 'a hidden value'
  const text = JSON.stringify(value)
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`
}

const ofConstants: Check = (schema, value, position) => {
  if (Array.isArray(schema['enum']) && !(schema['enum'] as JsonValue[]).some((each) => sameJson(each, value))) {
    return [
      fault(
        position.path,
        `expected one of ${(schema['enum'] as JsonValue[]).map((each) => JSON.stringify(each)).join(', ')}, ` +
          `got ${shown(value, position)}`,
        'enum',
      ),
    ]
  }
  if (Object.hasOwn(schema, 'const') && !sameJson(schema['const'] as JsonValue, value))
    return [fault(position.path, `expected ${JSON.stringify(schema['const'])}, got ${shown(value, position)}`, 'const')]
  return []
}

const BOUNDS: readonly (readonly [
  keyword: string,
  holds: (value: number, bound: number) => boolean,
  words: (bound: number) => string,
])[] = [
  ['minimum', (value, bound) => value >= bound, (bound) => `${bound} or more`],
  ['maximum', (value, bound) => value <= bound, (bound) => `${bound} or less`],
  ['exclusiveMinimum', (value, bound) => value > bound, (bound) => `more than ${bound}`],
  ['exclusiveMaximum', (value, bound) => value < bound, (bound) => `less than ${bound}`],
]

const ofNumber: Check = (schema, value, position) =>
  typeof value !== 'number'
    ? []
    : BOUNDS.flatMap(([keyword, holds, words]) => {
        const bound = schema[keyword]
        return typeof bound !== 'number' || holds(value, bound)
          ? []
          : [fault(position.path, `expected ${words(bound)}, got ${shown(value, position)}`, keyword)]
      })

const ofText: Check = (schema, value, position) => {
  if (typeof value !== 'string') return []
  const { path } = position
  const { minLength, maxLength, pattern } = schema as Record<string, unknown>
  const length = [...value].length // JSON Schema counts code points, not UTF-16 units.
  if (typeof minLength === 'number' && length < minLength)
    return [fault(path, `expected ${plural(minLength, 'character')} or more, got ${length}`, 'minLength')]
  if (typeof maxLength === 'number' && length > maxLength)
    return [fault(path, `expected ${plural(maxLength, 'character')} or less, got ${length}`, 'maxLength')]
  return typeof pattern !== 'string' || matches(pattern, value)
    ? []
    : [fault(path, `expected text that matches ${pattern}, got ${shown(value, position)}`, 'pattern')]
}

/** Classes whose meaning differs in the master's engine, which treats them as ASCII only. */
const UNSURE = /\\[sSwWbBpP]/
/** A repeated group may cause exponential backtracking in this engine; the master's engine is linear. */
const REPEATED_GROUP = /\)[+*{]/
/** Consecutive repeats cost up to the text length to the power of their number. */
const MAX_STEPS = 10_000_000

function matches(pattern: string, text: string): boolean {
  const bare = pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/gs, '.')
  const repeats = bare.match(/[+*{]/g)?.length ?? 0
  if (
    text.length > MAX_PATTERN_CHARACTERS ||
    UNSURE.test(pattern) ||
    REPEATED_GROUP.test(bare) ||
    text.length ** repeats > MAX_STEPS
  )
    return true
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true // Not supported by this engine; the master validates it.
  }
}

function countFaults(schema: JsonSchema, count: number, path: string): readonly FieldError[] {
  const { minItems, maxItems } = schema as Record<string, unknown>
  if (typeof minItems === 'number' && count < minItems)
    return [fault(path, `expected ${plural(minItems, 'item')} or more, got ${count}`, 'minItems')]
  if (typeof maxItems === 'number' && count > maxItems)
    return [fault(path, `expected ${plural(maxItems, 'item')} or less, got ${count}`, 'maxItems')]
  return []
}

const ofList: Check = (schema, value, position) => {
  if (!Array.isArray(value)) return []
  const items = value as readonly JsonValue[]
  const { uniqueItems, items: item, prefixItems } = schema as Record<string, unknown>
  const ofCount = countFaults(schema, items.length, position.path)
  const twice =
    uniqueItems === true
      ? items.findIndex((each, index) => items.slice(0, index).some((before) => sameJson(before, each)))
      : -1
  const ofItems =
    isSchema(item) && prefixItems === undefined
      ? items.flatMap((each, index) => faultsAt(item, each, deeper(position, pointerStep(index))))
      : []
  return [
    ...ofCount,
    ...(twice < 0
      ? []
      : [
          fault(
            position.path,
            `expected unique items, got ${shown(items[twice] as JsonValue, position)} twice`,
            'uniqueItems',
          ),
        ]),
    ...ofItems,
  ]
}

const ofObject: Check = (schema, value, position) => {
  if (!isSchema(value)) return []
  const object = value as Readonly<Record<string, JsonValue>>
  const properties = propertiesOf(schema)
  const missing = [...requiredOf(schema)].filter(
    (name): name is string => typeof name === 'string' && !Object.hasOwn(object, name),
  )
  const { additionalProperties: others, patternProperties } = schema as Record<string, unknown>
  // With patternProperties, the schema of an undeclared field depends on its name, which is not evaluated here.
  const undeclared = patternProperties === undefined ? others : undefined
  return [
    ...missing.map((name) => fault(position.path + pointerStep(name), 'is required', 'required')),
    ...Object.entries(object).flatMap(([name, each]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undeclared
      return faultsAt(own, each, deeper(position, pointerStep(name)))
    }),
  ]
}

/** Reports the errors of the intended branch if only one can be meant; otherwise that no branch matches. */
const ofUnion: Check = (schema, value, position) =>
  ['anyOf', 'oneOf'].flatMap((keyword) => {
    const branches = schema[keyword]
    if (!Array.isArray(branches)) return []
    const faults = branches.map((branch: unknown) => faultsAt(branch, value, deeper(position)))
    if (faults.some((each) => each.length === 0)) return []
    const near = faults.filter(
      (each) =>
        !each.some(
          ({ path, keyword: why }) => path === position.path && (why === 'type' || why === 'const' || why === 'enum'),
        ),
    )
    const constants = branches
      .filter((branch: unknown): branch is JsonSchema => isSchema(branch) && Object.hasOwn(branch, 'const'))
      .map((branch) => JSON.stringify(branch['const']))
    if (near.length === 1) return near[0] as readonly FieldError[]
    return [
      fault(
        position.path,
        constants.length === branches.length
          ? `expected one of ${constants.join(', ')}, got ${shown(value, position)}`
          : `expected one of the options, got ${shown(value, position)}`,
        keyword,
      ),
    ]
  })

const CHECKS: readonly Check[] = [ofConstants, ofNumber, ofText, ofList, ofObject, ofUnion]
