/**
 * @module protocol/config
 * Worker configuration: the base fields, defaults, the shallow merge of a PATCH, and secrets. One source for the master
 * (which merges), the worker (which applies) and clients that compare configs.
 *
 *   stored ──merge(patch)──▶ merged ──validate──▶ put        null: back to the default · mask: the stored secret stays
 *   stored ──mask──▶ what REST reads show
 * @see D4, D13, D16, D17, D52
 */
import { Type } from 'typebox'
import type { FieldError } from './errors.ts'
import { isJsonObject, pointerStep, sameJson, type JsonObject, type JsonSchema, type JsonValue } from './json.ts'
import { DEFAULT_MAX_ATTEMPTS, MAX_ATTEMPTS, MAX_SLOTS } from './limits.ts'

/** The fields that every config has, whatever the automation (D4). `recycle_seconds` is in seconds. */
export interface BaseConfig {
  readonly enabled: boolean
  readonly slots: number
  readonly max_attempts: number
  readonly recycle_seconds: number
}

/** The four fields every Config has (D4). */
export const BASE_CONFIG_FIELDS = {
  enabled: Type.Boolean({ default: false, description: 'Whether the worker runs its slots.' }),
  slots: Type.Integer({
    minimum: 0,
    maximum: MAX_SLOTS,
    default: 1,
    description: 'Concurrent slots; 0 = scaled to zero.',
  }),
  max_attempts: Type.Integer({
    minimum: 1,
    maximum: MAX_ATTEMPTS,
    default: DEFAULT_MAX_ATTEMPTS,
    description: 'Attempts of a batch task before it is dead-lettered.',
  }),
  recycle_seconds: Type.Number({
    minimum: 0,
    default: 0,
    description: 'Age in seconds at which a slot is replaced; 0 = never.',
  }),
} as const

/** The names of the base fields. */
export const BASE_CONFIG_NAMES: readonly string[] = Object.keys(BASE_CONFIG_FIELDS)

/** What REST shows in the place of a secret, and what keeps the stored one when it comes back in a PATCH. */
export const SECRET_MASK = '********'

/** Where secrets stand: paths of object keys, the first of them a top-level field. */
export type SecretPaths = readonly (readonly string[])[]

type Properties = Readonly<Record<string, JsonSchema>>
/** Returns the properties of an object schema; empty if it declares none. */
export const propertiesOf = (schema: JsonSchema): Properties => (schema['properties'] ?? {}) as Properties

/** A schema that cannot be the config schema of an automation. */
export class ConfigSchemaError extends TypeError {
  /** JSON pointer of the fault in the schema. */
  readonly pointer: string
  /** What is wrong there, without the pointer. */
  readonly problem: string

  /**
   * Creates an error of one fault.
   *
   * @param pointer JSON pointer of the fault in the schema.
   * @param problem What is wrong there.
   */
  constructor(pointer: string, problem: string) {
    super(`${pointer}: ${problem}`)
    this.name = 'ConfigSchemaError'
    this.pointer = pointer
    this.problem = problem
  }
}

/**
 * Creates the whole config schema of an automation.
 *
 * @param own The schema of the automation's own fields.
 * @returns `own` with the base fields; other fields are rejected.
 * @throws {ConfigSchemaError} when `own` is not an object schema, has `patternProperties`, or names a base field.
 */
export function configSchemaOf(own: JsonSchema): JsonSchema {
  if (own['type'] !== 'object') throw new ConfigSchemaError('/type', 'a config schema must be of type "object"')
  if (own['patternProperties'] !== undefined)
    throw new ConfigSchemaError(
      '/patternProperties',
      'the fields of a config are named one by one; put free names below a field of type object',
    )
  const taken = BASE_CONFIG_NAMES.find((name) => Object.hasOwn(propertiesOf(own), name))
  if (taken !== undefined)
    throw new ConfigSchemaError(`/properties/${taken}`, 'is a base field, added by Muster; leave it out')
  return { ...own, properties: { ...BASE_CONFIG_FIELDS, ...propertiesOf(own) }, additionalProperties: false }
}

/** Returns the top-level defaults of a config schema; a field without one is absent. */
export function defaultsOf(schema: JsonSchema): JsonObject {
  const withDefault = Object.entries(propertiesOf(schema)).filter(([, field]) => field['default'] !== undefined)
  return Object.fromEntries(withDefault.map(([name, field]) => [name, structuredClone(field['default']) as JsonValue]))
}

/**
 * Finds the secrets of a config schema: `writeOnly` at any depth of objects. Inside arrays or combinators the whole
 * top-level field is the secret.
 *
 * @param schema The whole config schema.
 * @returns the paths of its secrets; empty if it has none.
 * @see D52
 */
export function secretPathsOf(schema: JsonSchema): SecretPaths {
  return Object.entries(propertiesOf(schema)).flatMap(([name, field]) => {
    const found = pathsIn(field, [name], schema)
    return found === 'whole field' ? [[name]] : found
  })
}

function pathsIn(field: JsonSchema, path: readonly string[], root: JsonSchema): SecretPaths | 'whole field' {
  if (field['writeOnly'] === true) return [path]
  const { properties, ...others } = field
  if (mentionsSecret(others, root, new Set())) return 'whole field'
  const below = Object.entries((properties ?? {}) as Properties).map(([name, child]) =>
    pathsIn(child, [...path, name], root),
  )
  return below.includes('whole field') ? 'whole field' : (below as SecretPaths[]).flat()
}

/** Whether a secret stands anywhere below, local references followed. */
function mentionsSecret(node: unknown, root: JsonSchema, seen: Set<unknown>): boolean {
  if (typeof node !== 'object' || node === null || seen.has(node)) return false
  seen.add(node)
  const schema = node as JsonSchema
  if (schema['writeOnly'] === true) return true
  const reference = schema['$ref']
  if (typeof reference === 'string' && mentionsSecret(resolveLocal(root, reference), root, seen)) return true
  return Object.entries(schema).some(([keyword, child]) => keyword !== '$defs' && mentionsSecret(child, root, seen))
}

/**
 * Resolves a local reference of a schema.
 *
 * @param root The schema that has the reference.
 * @param reference The value of `$ref`, such as `#/$defs/target`.
 * @returns the part of the schema; undefined if there is none, or if the reference is not local.
 */
export function resolveLocal(root: JsonSchema, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>(
    (node, step) => (typeof node === 'object' && node !== null ? (node as JsonSchema)[step] : undefined),
    root,
  )
}

/**
 * Masks the secrets of a config.
 *
 * @param config A config; it is not changed.
 * @param secrets The secrets of its schema.
 * @returns a copy in which {@link SECRET_MASK} replaces every secret that is set.
 */
export function maskSecrets(config: JsonObject, secrets: SecretPaths): JsonObject {
  return secrets.reduce((masked, path) => replaceAt(masked, path, () => SECRET_MASK), config)
}

/**
 * Removes the secrets of a config.
 *
 * @param config A config; it is not changed.
 * @param secrets The secrets of its schema.
 * @returns a copy without them.
 */
export function withoutSecrets(config: JsonObject, secrets: SecretPaths): JsonObject {
  return secrets.reduce((bare, path) => replaceAt(bare, path, () => undefined), config)
}

/**
 * Reads the secrets of a config, to keep them out of texts.
 *
 * @param config A config.
 * @param secrets The secrets of its schema.
 * @returns the secrets that are set; empty if none is.
 */
export function secretValues(config: JsonObject, secrets: SecretPaths): readonly JsonValue[] {
  return secrets.map((path) => valueAt(config, path)).filter((value) => value !== undefined)
}

function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (node, key) => (isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    value,
  )
}

/** A copy with the value at `path`, where there is one, replaced; undefined removes it. */
function replaceAt(
  object: JsonObject,
  [key, ...rest]: readonly string[],
  replace: (old: JsonValue) => JsonValue | undefined,
): JsonObject {
  if (key === undefined || !Object.hasOwn(object, key)) return object
  const next = replaceInside(object[key] as JsonValue, rest, replace)
  const { [key]: _, ...others } = object
  return next === undefined ? others : { ...others, [key]: next }
}

/** Replaces `value` itself when `path` is empty. Only an object contains more of the path. */
function replaceInside(
  value: JsonValue,
  path: readonly string[],
  replace: (old: JsonValue) => JsonValue | undefined,
): JsonValue | undefined {
  if (path.length === 0) return replace(value)
  return isJsonObject(value) ? replaceAt(value, path, replace) : value
}

/** Result of {@link mergeConfig}. */
export interface Merged {
  readonly config: JsonObject
  /** Top-level names whose value differs from before. */
  readonly changed: readonly string[]
}

/**
 * Merges a PATCH into the stored config, top-level fields only. `null` restores the default of a field that does not
 * accept null itself, and the mask keeps the stored secret. Validates nothing.
 *
 * @param schema The whole config schema.
 * @param secrets Its secrets, from `secretPathsOf`.
 * @param stored The stored config; it is not changed.
 * @param patch The body of the PATCH.
 * @returns the merged config, and the names of the fields that differ from before.
 * @see D13, D17, D52
 */
export function mergeConfig(schema: JsonSchema, secrets: SecretPaths, stored: JsonObject, patch: JsonObject): Merged {
  const defaults = defaultsOf(schema)
  const kept = unmaskSecrets(patch, secrets, stored)
  const merged: Record<string, JsonValue> = { ...stored }
  for (const name of Object.keys(patch)) {
    if (!Object.hasOwn(kept, name)) continue // A mask over nothing stored.
    const value = kept[name] as JsonValue
    if (value !== null || acceptsNull(schema, name)) merged[name] = value
    else if (Object.hasOwn(defaults, name)) merged[name] = defaults[name] as JsonValue
    else delete merged[name]
  }
  return { config: merged, changed: changedNames(stored, merged) }
}

/**
 * Puts stored secrets in the place of masks.
 *
 * @param config A config in which {@link SECRET_MASK} stands for a stored secret; it is not changed.
 * @param secrets The secrets of its schema.
 * @param stored The config that has the secrets.
 * @returns a copy without masks. A mask over a secret that is not stored is removed.
 */
export function unmaskSecrets(config: JsonObject, secrets: SecretPaths, stored: JsonObject): JsonObject {
  return secrets.reduce(
    (result, path) => replaceAt(result, path, (value) => (value === SECRET_MASK ? valueAt(stored, path) : value)),
    config,
  )
}

/**
 * Returns the top-level names in which two configs differ by value.
 *
 * @param before A config.
 * @param after Another one.
 */
export function changedNames(before: JsonObject, after: JsonObject): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !sameJson(before[name], after[name])).toSorted()
}

/**
 * Returns whether null is a value of a field; otherwise null in a PATCH restores the default (D13). It is read from the
 * schema, which is not compiled: the operator receives schemas over the network.
 *
 * @param schema The whole config schema.
 * @param name A top-level field. An unknown one counts as accepting null, and the validator rejects it.
 */
export function acceptsNull(schema: JsonSchema, name: string): boolean {
  const fields = propertiesOf(schema)
  return !Object.hasOwn(fields, name) || takesNull(fields[name], schema, new Map())
}

/** Visits each schema one time, however many references lead to it; a schema that refers to itself accepts no null. */
function takesNull(node: unknown, root: JsonSchema, known: Map<JsonObject, boolean>): boolean {
  if (typeof node === 'boolean') return node
  if (!isJsonObject(node)) return false
  const response = known.get(node)
  if (response !== undefined) return response
  known.set(node, false)
  const found = passesNull(node, root, (child) => takesNull(child, root, known))
  known.set(node, found)
  return found
}

/** Whether a subschema accepts null. */
type SubschemaCheck = (subschema: unknown) => boolean

/** Checks every keyword that can reject null; the others apply to objects, arrays, numbers and strings only. */
function passesNull(node: JsonObject, root: JsonSchema, takes: SubschemaCheck): boolean {
  const { $ref: reference } = node
  if (!typeAllowsNull(node) || !valuesAllowNull(node)) return false
  if (typeof reference === 'string' && !takes(resolveLocal(root, reference))) return false
  return combinatorsAllowNull(node, takes) && conditionAllowsNull(node, takes)
}

/** Keywords `type` and `nullable`. */
function typeAllowsNull({ type, nullable }: JsonObject): boolean {
  if (type === undefined || nullable === true) return true
  return [type].flat().includes('null')
}

/** Keywords `enum` and `const`. */
function valuesAllowNull(node: JsonObject): boolean {
  if (listAt(node, 'enum')?.includes(null) === false) return false
  return (node['const'] ?? null) === null
}

/** Keywords `allOf`, `anyOf`, `oneOf` and `not`. */
function combinatorsAllowNull(node: JsonObject, takes: SubschemaCheck): boolean {
  if (listAt(node, 'allOf')?.every(takes) === false) return false
  if (listAt(node, 'anyOf')?.some(takes) === false) return false
  const oneOf = listAt(node, 'oneOf')
  if (oneOf !== undefined && oneOf.filter(takes).length !== 1) return false
  return node['not'] === undefined || !takes(node['not'])
}

/** Keywords `if`, `then` and `else`. */
function conditionAllowsNull(node: JsonObject, takes: SubschemaCheck): boolean {
  const { if: condition } = node
  if (condition === undefined) return true
  const branch = takes(condition) ? node['then'] : node['else']
  return takes(branch ?? true)
}

/** @returns the value of a keyword if it is a list. */
function listAt(node: JsonObject, keyword: string): readonly JsonValue[] | undefined {
  const value = node[keyword]
  return Array.isArray(value) ? (value as readonly JsonValue[]) : undefined
}

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Finds keys that a config must not have, at any depth: `__proto__`, `constructor` and `prototype` (D13).
 *
 * @param value A config of at most {@link MAX_JSON_DEPTH} levels; the function is recursive.
 * @param path The pointer to `value`; '' if omitted.
 * @returns one fault per key; empty if there is none.
 */
export function forbiddenKeys(value: JsonValue, path = ''): readonly FieldError[] {
  if (Array.isArray(value)) return value.flatMap((each: JsonValue, index) => forbiddenKeys(each, `${path}/${index}`))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, each]) =>
    FORBIDDEN.has(key)
      ? [
          {
            path: `${path}/${key}`,
            message: 'this key is not allowed in a config',
            keyword: 'propertyNames',
            params: { propertyName: key },
          },
        ]
      : forbiddenKeys(each, `${path}${pointerStep(key)}`),
  )
}
