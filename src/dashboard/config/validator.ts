/**
 * @module dashboard/config/validator
 * Judges a value by the subset of JSON Schema that forms are made of, by interpreting it: the page may not evaluate code.
 * It is never stricter than the master, whose verdict alone counts (D49): a keyword it does not know, a long text against
 * a pattern, a format it cannot judge, all pass here. Its words say what was expected and, but of a secret, what is there.
 */
import type { FieldError, JsonSchema, JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../parts/json-text.ts'
import { isSchema, pointerStep, propertiesOf, requiredOf, SECRET_MASK, targetOf } from './schema.ts'

const MAX_FAULTS = 100
const MAX_DEPTH = 64
/** Longer, a hostile pattern could stall the page. */
const MAX_PATTERN_CHARACTERS = 4_096
const SHOWN_CHARACTERS = 60

interface Place {
  readonly root: JsonSchema
  readonly path: string
  readonly depth: number
  readonly isSecret: boolean
}
type Check = (schema: JsonSchema, value: JsonValue, place: Place) => readonly FieldError[]

/** All faults of a value, at most 100; empty: nothing is wrong as far as the page can tell. References lead into `root`. */
export const validate = (
  schema: JsonSchema,
  value: JsonValue | undefined,
  root: JsonSchema = schema,
): readonly FieldError[] =>
  value === undefined
    ? [fault('', 'expected a value, got nothing', 'required')]
    : judge(schema, value, { root, path: '', depth: 0, isSecret: false }).slice(0, MAX_FAULTS)

const fault = (path: string, message: string, keyword: string): FieldError => ({ path, message, keyword, params: {} })

function judge(schema: unknown, value: JsonValue, from: Place): readonly FieldError[] {
  const place = { ...from, isSecret: from.isSecret || isSecret(schema) }
  if (schema === false) return [fault(place.path, 'is not a known field', 'additionalProperties')]
  if (!isSchema(schema) || place.depth > MAX_DEPTH) return []
  if (schema['writeOnly'] === true && value === SECRET_MASK) return [] // The stored secret stays (D17).
  const { $ref: reference } = schema
  const ofTarget = reference === undefined ? [] : judge(targetOf(schema, place.root), value, deeper(place))
  const ofType = typeFault(schema, value, place)
  return [...ofTarget, ...(ofType.length > 0 ? ofType : CHECKS.flatMap((check) => check(schema, value, place)))]
}

/** Itself, or in one of its branches. */
const isSecret = (schema: unknown): boolean =>
  isSchema(schema) &&
  [schema, schema['anyOf'], schema['oneOf'], schema['items']]
    .flat()
    .some((each) => isSchema(each) && each['writeOnly'] === true)

const deeper = (place: Place, step = ''): Place => ({ ...place, path: place.path + step, depth: place.depth + 1 })

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function typeFault({ type }: { readonly type?: unknown }, value: JsonValue, place: Place): readonly FieldError[] {
  const types = (Array.isArray(type) ? type : [type]).filter(
    (each): each is string => typeof each === 'string' && Object.hasOwn(TYPE_WORDS, each),
  )
  if (types.length === 0 || types.some((each) => isOfType(value, each))) return []
  return [
    fault(
      place.path,
      `expected ${types.map((each) => TYPE_WORDS[each]).join(' or ')}, got ${shown(value, place)}`,
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

function shown(value: JsonValue, { isSecret: hides }: Place): string {
  if (hides) return 'a hidden value'
  const text = JSON.stringify(value)
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`
}

const ofConstants: Check = (schema, value, place) => {
  if (Array.isArray(schema['enum']) && !(schema['enum'] as JsonValue[]).some((each) => sameJson(each, value))) {
    return [
      fault(
        place.path,
        `expected one of ${(schema['enum'] as JsonValue[]).map((each) => JSON.stringify(each)).join(', ')}, got ${shown(value, place)}`,
        'enum',
      ),
    ]
  }
  if (Object.hasOwn(schema, 'const') && !sameJson(schema['const'] as JsonValue, value))
    return [fault(place.path, `expected ${JSON.stringify(schema['const'])}, got ${shown(value, place)}`, 'const')]
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

const ofNumber: Check = (schema, value, place) =>
  typeof value !== 'number'
    ? []
    : BOUNDS.flatMap(([keyword, holds, words]) => {
        const bound = schema[keyword]
        return typeof bound !== 'number' || holds(value, bound)
          ? []
          : [fault(place.path, `expected ${words(bound)}, got ${shown(value, place)}`, keyword)]
      })

const ofText: Check = (schema, value, place) => {
  if (typeof value !== 'string') return []
  const { path } = place
  const { minLength, maxLength, pattern } = schema as Record<string, unknown>
  const length = [...value].length // Characters, as the schema counts them: not halves of them.
  if (typeof minLength === 'number' && length < minLength)
    return [fault(path, `expected ${minLength} characters or more, got ${length}`, 'minLength')]
  if (typeof maxLength === 'number' && length > maxLength)
    return [fault(path, `expected ${maxLength} characters or less, got ${length}`, 'maxLength')]
  return typeof pattern !== 'string' || matches(pattern, value)
    ? []
    : [fault(path, `expected text that matches ${pattern}, got ${shown(value, place)}`, 'pattern')]
}

/** Classes that the master's engine reads as ASCII alone. */
const UNSURE = /\\[sSwWbBpP]/
/** A repeated group may take for ever on this engine; the master's is linear. */
const REPEATED_GROUP = /\)[+*{]/
/** Repeats one after another cost a power of the text's length. */
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
    return true // Not a pattern of this engine; the master knows.
  }
}

const ofList: Check = (schema, value, place) => {
  if (!Array.isArray(value)) return []
  const items = value as readonly JsonValue[]
  const { minItems, maxItems, uniqueItems, items: item, prefixItems } = schema as Record<string, unknown>
  const ofCount =
    typeof minItems === 'number' && items.length < minItems
      ? [fault(place.path, `expected ${minItems} items or more, got ${items.length}`, 'minItems')]
      : typeof maxItems === 'number' && items.length > maxItems
        ? [fault(place.path, `expected ${maxItems} items or less, got ${items.length}`, 'maxItems')]
        : []
  const twice =
    uniqueItems === true
      ? items.findIndex((each, index) => items.slice(0, index).some((before) => sameJson(before, each)))
      : -1
  const ofItems =
    isSchema(item) && prefixItems === undefined
      ? items.flatMap((each, index) => judge(item, each, deeper(place, pointerStep(index))))
      : []
  return [
    ...ofCount,
    ...(twice < 0
      ? []
      : [
          fault(
            place.path,
            `expected no item twice, got ${shown(items[twice] as JsonValue, place)} again`,
            'uniqueItems',
          ),
        ]),
    ...ofItems,
  ]
}

const ofObject: Check = (schema, value, place) => {
  if (!isSchema(value)) return []
  const object = value as Readonly<Record<string, JsonValue>>
  const properties = propertiesOf(schema)
  const missing = [...requiredOf(schema)].filter(
    (name): name is string => typeof name === 'string' && !Object.hasOwn(object, name),
  )
  const { additionalProperties: others, patternProperties } = schema as Record<string, unknown>
  return [
    ...missing.map((name) => fault(place.path + pointerStep(name), 'is required', 'required')),
    ...Object.entries(object).flatMap(([name, each]) => {
      const own = Object.hasOwn(properties, name)
        ? properties[name]
        : patternProperties === undefined
          ? others
          : undefined
      return judge(own, each, deeper(place, pointerStep(name)))
    }),
  ]
}

/** A union whose faults stand in one branch alone is told as that branch's; else only that none fits. */
const ofUnion: Check = (schema, value, place) =>
  ['anyOf', 'oneOf'].flatMap((keyword) => {
    const branches = schema[keyword]
    if (!Array.isArray(branches)) return []
    const faults = branches.map((branch: unknown) => judge(branch, value, deeper(place)))
    if (faults.some((each) => each.length === 0)) return []
    const near = faults.filter(
      (each) =>
        !each.some(
          ({ path, keyword: why }) => path === place.path && (why === 'type' || why === 'const' || why === 'enum'),
        ),
    )
    const constants = branches
      .filter((branch: unknown): branch is JsonSchema => isSchema(branch) && Object.hasOwn(branch, 'const'))
      .map((branch) => JSON.stringify(branch['const']))
    if (near.length === 1) return near[0] as readonly FieldError[]
    return [
      fault(
        place.path,
        constants.length === branches.length
          ? `expected one of ${constants.join(', ')}, got ${shown(value, place)}`
          : `expected one of the choices, got ${shown(value, place)}`,
        keyword,
      ),
    ]
  })

const CHECKS: readonly Check[] = [ofConstants, ofNumber, ofText, ofList, ofObject, ofUnion]
