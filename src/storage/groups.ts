/**
 * @module storage/groups
 * Builds the groups of the contract from one function that creates a single method. So a backend writes only once what
 * all of its methods have in common: the check of the arguments, the check that it is open, the message to the store.
 */
import { CHECKS, type GroupName } from './arguments.ts'
import type { Backend } from './backend.ts'

/** The groups that are called by name. The bus and the event log of a backend are not among them. */
export type Groups = Pick<Backend, GroupName>
export type { GroupName }

/** A group with the same methods, but synchronous. */
export type Sync<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}
export type SyncGroups = { readonly [G in GroupName]: Sync<Groups[G]> }

/** One call of a method of the contract. */
export interface StorageCall {
  readonly group: GroupName
  readonly method: string
  readonly args: readonly unknown[]
}

/** A method that is selected by name, so the types of its parameters are unknown. */
type Method = (...args: readonly unknown[]) => unknown

/**
 * Creates one method of one group.
 *
 * @param check Throws a TypeError that names the wrong argument.
 */
type CreateMethod = (group: GroupName, method: string, check: Method) => (...args: unknown[]) => Promise<unknown>

/** Builds all groups. `create` is called once for each method. */
export function groupsOf(create: CreateMethod): Groups {
  const groups = Object.entries(CHECKS).map(([group, checks]) => {
    const methods = Object.entries(checks as Readonly<Record<string, Method>>)
    const created = methods.map(([method, check]) => [method, create(group as GroupName, method, check)] as const)
    return [group, Object.fromEntries(created)] as const
  })
  return Object.fromEntries(groups) as unknown as Groups // CHECKS has each method of each group.
}

/** @throws {TypeError} that names the wrong argument. */
export function checkArguments(call: StorageCall): void {
  runCall(CHECKS, call)
}

/** Runs a call on the part that implements its group. @returns what the method returned. */
export function runCall(parts: Readonly<Record<GroupName, object>>, { group, method, args }: StorageCall): unknown {
  return callMethod(parts[group], method, args)
}

/** Calls the method of that name. The arguments must be those of this method. */
export function callMethod(part: object, method: string, args: readonly unknown[]): unknown {
  return (part as Readonly<Record<string, Method>>)[method]?.(...args)
}
