/**
 * @module master/auth/jwt/rules
 * Makes the grants of a JWT: those of all rules whose conditions match its claims. A condition names a claim by a JSON
 * pointer. Texts are equal, or end in `*` in the rule; of an array one element must match.
 */
import { isWorkerId, pointerSteps, type JsonObject, type Permission } from '../../../protocol/index.ts'
import type { Grant } from '../principal.ts'
import type { Expected, IssuerRule } from './issuer-settings.ts'

/** @returns the grants of the matching rules; empty if none matches. */
export function grantsFor(claims: JsonObject, rules: readonly IssuerRule[]): readonly Grant[] {
  return rules.flatMap((rule) => {
    const isMatch = rule.when.every(([pointer, expected]) => matches(claimAt(claims, pointer), expected))
    const workers = isMatch ? workersFor(claims, rule) : null
    if (workers === null) return []
    return [{ permissions: new Set(rule.permissions as Permission[]), types: new Set(rule.types), workers }]
  })
}

/** @returns null if the claim of the worker is missing, or is not an id: the rule then grants nothing. */
function workersFor(claims: JsonObject, { workers, workerClaim }: IssuerRule): readonly string[] | null {
  if (workerClaim === null) return workers
  const id = claimAt(claims, workerClaim)
  // A claim is compared as a whole: one that ends in `*` would be a pattern.
  return typeof id === 'string' && isWorkerId(id) && !id.includes('*') ? [id] : null
}

/** @returns the value that a JSON pointer names; undefined if there is none. */
export function claimAt(claims: JsonObject, pointer: string): unknown {
  let value: unknown = claims
  for (const step of pointerSteps(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

function matches(claim: unknown, expected: Expected): boolean {
  if (Array.isArray(claim)) return claim.some((each) => isEqual(each, expected))
  return isEqual(claim, expected)
}

function isEqual(claim: unknown, expected: Expected): boolean {
  if (typeof expected === 'string' && expected.endsWith('*'))
    return typeof claim === 'string' && claim.startsWith(expected.slice(0, -1))
  return claim === expected
}
