/**
 * @module dashboard/config/union-branch
 * Finds the branch of a union (`oneOf`, `anyOf`) that a value belongs to, so that the form shows the inputs of that
 * branch.
 */
import type { JsonValue } from '../../protocol/index.ts'
import type { Branch } from './shape.ts'
import { validate } from './validator.ts'

/** @returns the index of the first branch that the value satisfies, else of the first one of its kind, else 0. */
export function branchOf(branches: readonly Branch[], value: JsonValue | undefined): number {
  const fitting = branches.findIndex(({ schema }) => validate(schema, value).length === 0)
  return fitting >= 0
    ? fitting
    : Math.max(
        0,
        branches.findIndex((branch) => looksLike(branch, value)),
      )
}

/** Whether the value has the type of the branch, even if it is invalid. */
export function looksLike(branch: Branch | undefined, value: JsonValue | undefined): boolean {
  switch (branch?.shape.kind) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'integer':
    case 'number':
      return typeof value === 'number'
    case 'string':
      return typeof value === 'string'
    case 'enum':
    case 'union':
    case 'json':
    case undefined:
      return false
  }
}
