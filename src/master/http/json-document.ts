/**
 * @module master/http/json-document
 * Parses JSON and limits its size: at most 64 levels, 10,000 keys per object, 100,000 values, finite numbers only. The
 * values are counted without recursion, because an attacker chooses the depth.
 *
 * Keys are never copied: `__proto__` stays the own key that JSON.parse created. Of duplicate keys the last one wins.
 */
import {
  FleetError,
  invalid,
  MAX_JSON_DEPTH,
  MAX_JSON_KEYS,
  MAX_JSON_VALUES,
  pointerStep,
} from '../../protocol/index.ts'

/** @throws {FleetError} BAD_REQUEST: the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FleetError('BAD_REQUEST', 'the body is not JSON') // The parser's message would quote the body.
  }
}

/** A container on the path to the current value. The pointer is only built after a fault. */
interface DocumentNode {
  readonly container: object
  readonly depth: number
  readonly above: DocumentNode | null
  readonly key: string | number
}

/**
 * Checks the limits of a parsed document.
 * @returns how many values it contains.
 * @throws {FleetError} INVALID with a pointer to the first fault.
 */
export function checkDocument(document: unknown): number {
  if (typeof document !== 'object' || document === null) return checkedScalar(document, null, '')
  let values = 1
  const open: DocumentNode[] = [{ container: document, depth: 1, above: null, key: '' }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const entries = Array.isArray(place.container) ? place.container.entries() : objectEntries(place)
    for (const [key, value] of entries) {
      values += 1
      if (values > MAX_JSON_VALUES)
        throw invalid('', `has more than ${MAX_JSON_VALUES} values`, 'maxValues', { limit: MAX_JSON_VALUES })
      if (typeof value !== 'object' || value === null) checkedScalar(value, place, key)
      else open.push(deeper(value as object, place, key))
    }
  }
  return values
}

function objectEntries(place: DocumentNode): [string, unknown][] {
  const entries = Object.entries(place.container) as [string, unknown][]
  if (entries.length > MAX_JSON_KEYS)
    throw invalid(pointerTo(place), `has more than ${MAX_JSON_KEYS} keys`, 'maxProperties', { limit: MAX_JSON_KEYS })
  return entries
}

function deeper(container: object, above: DocumentNode, key: string | number): DocumentNode {
  const place = { container, depth: above.depth + 1, above, key }
  if (place.depth > MAX_JSON_DEPTH)
    throw invalid(pointerTo(place), `is nested deeper than ${MAX_JSON_DEPTH} levels`, 'maxDepth', {
      limit: MAX_JSON_DEPTH,
    })
  return place
}

function checkedScalar(value: unknown, above: DocumentNode | null, key: string | number): number {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw invalid(`${pointerTo(above)}${above === null ? '' : pointerStep(key)}`, 'is too large for a number', 'finite')
  return 1
}

function pointerTo(place: DocumentNode | null): string {
  let pointer = ''
  for (let at = place; at !== null && at.above !== null; at = at.above) pointer = pointerStep(at.key) + pointer
  return pointer
}
