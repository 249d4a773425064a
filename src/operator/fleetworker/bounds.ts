/**
 * @module operator/fleetworker/bounds
 * Validates a FleetWorker before anything is sent: sizes that no schema can check, and every rule of the
 * CustomResourceDefinition again, because an object may be older than the rule it breaks. Each fault is one sentence.
 * Faults result in `ConfigInvalid`, and nothing is sent.
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
  type JsonValue,
} from '../../protocol/index.ts'
import { FIELD_PATTERN, WORKER_ID_PATTERN, workerIdOf, type ConfigSource, type FleetWorker } from './schema.ts'

const TYPE = new RegExp(TYPE_PATTERN)
const WORKER_ID = new RegExp(WORKER_ID_PATTERN)
const FIELD = new RegExp(FIELD_PATTERN)
const BAD_FIELDS = new Set(['__proto__', 'constructor', 'prototype'])

/** @returns all faults of the spec, without those of sources; empty if there are none. */
export function boundFaults(resource: FleetWorker): readonly string[] {
  const { spec } = resource
  const { config = {}, configFrom = [], ignoreDifferences = [] } = spec
  return [
    ...addressFaults(resource),
    ...valueFaults(config, 'spec.config'),
    ...configFrom.flatMap(sourceFaults),
    ...twice(configFrom.map(({ field }) => field)).map(
      (field) => `spec.configFrom: names ${JSON.stringify(field)} twice; remove one of the two`,
    ),
    ...configFrom
      .filter(({ field }) => Object.hasOwn(config, field))
      .map(({ field }) => `spec.configFrom: ${JSON.stringify(field)} is also in spec.config; remove one of the two`),
    ...slotsFaults(resource),
    ...ignoreDifferences
      .filter((pointer) => !isFieldPointer(pointer))
      .map(
        (pointer) =>
          `spec.ignoreDifferences: ${JSON.stringify(pointer)} is not a JSON pointer to a config field; ` +
          'use for example "/targets"',
      ),
  ]
}

/** @returns why the type and id of the worker cannot be used in a request; empty if they can. */
export function addressFaults(resource: FleetWorker): readonly string[] {
  return [
    ...(TYPE.test(resource.spec.type) ? [] : ['spec.type: must be an automation type']),
    ...(WORKER_ID.test(workerIdOf(resource))
      ? []
      : ['spec.workerId: must begin and end with a letter or digit; between them . _ : @ - are allowed too']),
  ]
}

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

function sourceFaults({ field, secretKeyRef, configMapKeyRef }: ConfigSource): readonly string[] {
  const at = `spec.configFrom: ${JSON.stringify(field)}`
  return [
    ...(FIELD.test(field) && !BAD_FIELDS.has(field) ? [] : [`${at} may not be the name of a field`]),
    ...((secretKeyRef === undefined) === (configMapKeyRef === undefined)
      ? [`${at} must name one of secretKeyRef and configMapKeyRef`]
      : []),
  ]
}

/** @returns the other field of the spec that sets `slots`; undefined if none does. */
function otherSlotsField({ config = {}, configFrom = [] }: FleetWorker['spec']): 'config' | 'configFrom' | undefined {
  if ((config['slots'] ?? null) !== null) return 'config'
  return configFrom.some(({ field }) => field === 'slots') ? 'configFrom' : undefined
}

function slotsFaults({ spec }: FleetWorker): readonly string[] {
  const { slots } = spec
  if (slots === undefined) return []
  if (!Number.isInteger(slots) || slots < 0 || slots > MAX_SLOTS)
    return [`spec.slots: must be an integer from 0 to ${MAX_SLOTS}`]
  const other = otherSlotsField(spec)
  return other === undefined ? [] : [`spec.slots: slots are also in spec.${other}; set them once`]
}

/** RFC 6901 without `-`, which names no existing value. */

const twice = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
]
