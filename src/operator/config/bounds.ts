/**
 * @module operator/config/bounds
 * Validates the config fields of a FleetWorker or FleetWorkerSet before anything is sent: sizes that no schema can
 * check, and every rule of the CustomResourceDefinition again, because an object may be older than the rule it breaks.
 * Each fault is one sentence. Faults result in `ConfigInvalid`, and nothing is sent.
 *
 * Depth is computed without recursion, and before any recursive function runs.
 * @see D13, D43
 */
import { Buffer } from 'node:buffer'
import {
  forbiddenKeys,
  MAX_CONFIG_BYTES,
  MAX_JSON_DEPTH,
  MAX_SLOTS,
  isFieldPointer,
  pointerStep,
  TYPE_PATTERN,
  type JsonObject,
  type JsonValue,
} from '../../protocol/index.ts'
import { FIELD_PATTERN, WORKER_ID_PATTERN, type ConfigSource } from './schema.ts'

const TYPE = new RegExp(TYPE_PATTERN)
const WORKER_ID = new RegExp(WORKER_ID_PATTERN)
const FIELD = new RegExp(FIELD_PATTERN)
const BAD_FIELDS = new Set(['__proto__', 'constructor', 'prototype'])

/** The fields of a spec that make a config. Both kinds have them. */
interface ConfigFields {
  readonly config?: JsonObject
  readonly configFrom?: readonly ConfigSource[]
  readonly slots?: number
  readonly ignoreDifferences?: readonly string[]
}

/** @returns all faults of these fields of a spec, without those of the values of sources; empty if there are none. */
export function configFaults(spec: ConfigFields): readonly string[] {
  const { config = {}, configFrom = [], ignoreDifferences = [] } = spec
  return [
    ...valueFaults(config, 'spec.config'),
    ...configFrom.flatMap(sourceFaults),
    ...twice(configFrom.map(({ field }) => field)).map(
      (field) => `spec.configFrom: names ${JSON.stringify(field)} twice; remove one of the two`,
    ),
    ...configFrom
      .filter(({ field }) => Object.hasOwn(config, field))
      .map(({ field }) => `spec.configFrom: ${JSON.stringify(field)} is also in spec.config; remove one of the two`),
    ...slotsFaults(spec),
    ...ignoreDifferences
      .filter((pointer) => !isFieldPointer(pointer))
      .map(
        (pointer) =>
          `spec.ignoreDifferences: ${JSON.stringify(pointer)} is not a JSON pointer to a config field; ` +
          'use for example "/targets"',
      ),
  ]
}

/** @returns why a type cannot be used in a request; empty if it can. */
export const typeFaults = (type: string): readonly string[] =>
  TYPE.test(type) ? [] : ['spec.type: must be an automation type']

/** Whether a FleetWorker or an override may name a worker by this id. */
export const isWorkerId = (id: string): boolean => WORKER_ID.test(id)

/** @returns faults of a config, or of one value of it. They name the location, never the value. */
export function valueFaults(value: JsonValue, at: string): readonly string[] {
  if (!withinDepth(value)) return [`${at}: is nested deeper than ${MAX_JSON_DEPTH} levels`]
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > MAX_CONFIG_BYTES) return [`${at}: takes ${bytes} bytes, at most ${MAX_CONFIG_BYTES} are allowed`]
  return isSound(value)
    ? []
    : [
        ...forbiddenKeys(value).map(({ path, message }) => `${at}${path}: ${message}`),
        ...unsafeIntegers(value).map(
          (path) =>
            `${at}${path}: is an integer outside ±(2^53 - 1), which JSON clients would round; write it as a string`,
        ),
      ]
}

export function withinDepth(value: JsonValue): boolean {
  let level: readonly object[] = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_JSON_DEPTH) return false
    level = level.flatMap((each) => Object.values(each).filter(isContainer))
  }
  return true
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Fast check, which nearly every value passes at each look. It does not compute locations. */
function isSound(value: JsonValue): boolean {
  if (typeof value === 'number') return isSafe(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every((each: JsonValue) => isSound(each))
  return Object.entries(value).every(([key, each]: [string, JsonValue]) => !BAD_FIELDS.has(key) && isSound(each))
}

const isSafe = (number: number): boolean => !Number.isInteger(number) || Number.isSafeInteger(number)

/** JSON pointers of integers that a double cannot represent exactly. */
function unsafeIntegers(value: JsonValue, at = ''): readonly string[] {
  if (typeof value === 'number') return isSafe(value) ? [] : [at]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]: [string, JsonValue]) =>
    unsafeIntegers(each, `${at}${pointerStep(key)}`),
  )
}

function sourceFaults({ field, secretKeyRef, configMapKeyRef, format, as }: ConfigSource): readonly string[] {
  const at = `spec.configFrom: ${JSON.stringify(field)}`
  return [
    ...(FIELD.test(field) && !BAD_FIELDS.has(field) ? [] : [`${at} may not be the name of a field`]),
    ...((secretKeyRef === undefined) === (configMapKeyRef === undefined)
      ? [`${at} must name one of secretKeyRef and configMapKeyRef`]
      : []),
    ...(format !== undefined && as === 'JSON' ? [`${at} has both format and as, its old name; remove as`] : []),
  ]
}

/** @returns the other field of the spec that sets `slots`; undefined if none does. */
function otherSlotsField({ config = {}, configFrom = [] }: ConfigFields): 'config' | 'configFrom' | undefined {
  if ((config['slots'] ?? null) !== null) return 'config'
  return configFrom.some(({ field }) => field === 'slots') ? 'configFrom' : undefined
}

function slotsFaults(spec: ConfigFields): readonly string[] {
  if (spec.slots === undefined) return []
  const range = slotsRangeFaults(spec.slots, 'spec.slots')
  if (range.length > 0) return range
  const other = otherSlotsField(spec)
  return other === undefined ? [] : [`spec.slots: slots are also in spec.${other}; set them once`]
}

/** @returns why this number of slots is not possible; empty if it is. */
export const slotsRangeFaults = (slots: number, at: string): readonly string[] =>
  Number.isInteger(slots) && slots >= 0 && slots <= MAX_SLOTS
    ? []
    : [`${at}: must be an integer from 0 to ${MAX_SLOTS}`]

/** @returns the names that occur more than once, each once. */
export const twice = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
]
