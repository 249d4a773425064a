/**
 * @module master/auth/principal
 * Defines the holder of a token and what it may do: a list of grants, each of permissions for automation types and
 * workers. A call needs one grant that has all three; grants are never combined.
 * @see D86, D227
 */
import type { IssuerSettings } from './jwt/index.ts'
import { PERMISSIONS, ROLE_PERMISSIONS, type Permission } from '../../protocol/index.ts'

/** Permissions for automation types, limited to some of their workers. */
export interface Grant {
  readonly permissions: ReadonlySet<Permission>
  /** Names of types; `*` is every type. */
  readonly types: ReadonlySet<string>
  /** Worker ids; a `*` at the end matches the rest of an id. */
  readonly workers: readonly string[]
}

/**
 * The holder of a token. `key` is the whole digest of the token, for counting per token. `id` is shown to people: the
 * name in SVC_TOKENS, the holder of a JWT, otherwise the first 8 hex digits of the token's SHA-256.
 */
export interface Principal {
  readonly role: 'admin' | 'worker' | 'scaler' | 'scoped'
  readonly key: string
  readonly id: string
  /** Left out: the permissions of the role, for every type and worker. */
  readonly grants?: readonly Grant[]
  /** Set for the tokens of SVC_TOKENS, and for JWTs. */
  readonly name?: string
  /** When the token expires; never if left out. */
  readonly expiresAtMs?: number
  /** Set for a JWT: the issuer with its rules, and the key that signed the token. */
  readonly jwt?: { readonly issuer: IssuerSettings; readonly keyId: string }
  /** Tasks that the token may submit per second, at all masters together; unlimited if left out. */
  readonly submitRps?: number
}

const EVERY_TYPE: ReadonlySet<string> = new Set(['*'])
export const EVERY_WORKER: readonly string[] = ['*']

const ROLE_GRANTS = Object.fromEntries(
  (['admin', 'worker', 'scaler', 'scoped'] as const).map((role) => [
    role,
    role === 'scoped'
      ? []
      : [{ permissions: new Set<Permission>(ROLE_PERMISSIONS[role]), types: EVERY_TYPE, workers: EVERY_WORKER }],
  ]),
) as unknown as Readonly<Record<Principal['role'], readonly Grant[]>>

function grantsOf({ role, grants }: Principal): readonly Grant[] {
  return grants ?? ROLE_GRANTS[role]
}

/**
 * Whether one grant of the principal has the permission, for the type and the worker.
 * @param type Compared as a whole, never as a pattern. If left out, any type will do.
 * @param worker If left out, any worker will do.
 */
export function mayAccess(principal: Principal, permission: Permission, type?: string, worker?: string): boolean {
  return grantsOf(principal).some(
    (grant) =>
      grant.permissions.has(permission) &&
      (type === undefined || coversType(grant, type)) &&
      (worker === undefined || coversWorker(grant, worker)),
  )
}

/** Whether the principal may read every worker of the types that it covers. */
export function readsEveryWorker(principal: Principal): boolean {
  return grantsWith(principal, 'read').every(({ workers }) => workers.includes('*'))
}

/** Whether the principal may read what belongs to an automation type. */
export const covers = (principal: Principal, type: string): boolean => mayAccess(principal, 'read', type)

/**
 * Selects the workers of a type for which the principal has a permission, or one of several.
 * @returns null if these are all workers, which is so for every token without a list of workers.
 */
export function workerFilter(
  principal: Principal,
  permission: Permission | readonly Permission[],
  type: string,
): ((worker: string) => boolean) | null {
  const own = grantsWith(principal, permission).filter((grant) => coversType(grant, type))
  if (own.some(({ workers }) => workers.includes('*'))) return null
  return (worker) => own.some((grant) => coversWorker(grant, worker))
}

/** @returns whether the principal may read a worker, of a type that it covers. */
export function workersShown(principal: Principal): (type: string, worker: string) => boolean {
  const filters = new Map<string, ReturnType<typeof workerFilter>>()
  return (type, worker) => {
    const known = filters.get(type)
    const filter = known === undefined ? workerFilter(principal, 'read', type) : known
    filters.set(type, filter)
    return filter === null || filter(worker)
  }
}

/**
 * Whether one grant covers every worker that a pattern can match.
 * @param pattern Literal characters, `*` and `?`, as in the selector of an enrolment rule.
 */
export function mayAccessPattern(
  principal: Principal,
  permission: Permission | readonly Permission[],
  type: string,
  pattern: string,
): boolean {
  return grantsWith(principal, permission).some(
    (grant) => coversType(grant, type) && grant.workers.some((own) => isInside(pattern, own)),
  )
}

/** The types of the grants that have the permission, ordered; `*` alone if every type is among them. */
export function typesOf(principal: Principal, permission?: Permission): readonly string[] {
  return listed(grantsWith(principal, permission).flatMap((grant) => [...grant.types]))
}

/** The worker patterns of the grants with the permission for the type, ordered; `*` alone if it is among them. */
export function workersOf(
  principal: Principal,
  permission?: Permission | readonly Permission[],
  type?: string,
): readonly string[] {
  const grants = grantsWith(principal, permission).filter((grant) => type === undefined || coversType(grant, type))
  return listed(grants.flatMap((grant) => grant.workers))
}

/** @param permission One, or several of which a grant needs one. If left out, all grants are returned. */
function grantsWith(principal: Principal, permission?: Permission | readonly Permission[]): readonly Grant[] {
  const grants = grantsOf(principal)
  if (permission === undefined) return grants
  const any = typeof permission === 'string' ? [permission] : permission
  return grants.filter(({ permissions }) => any.some((each) => permissions.has(each)))
}

function listed(names: readonly string[]): readonly string[] {
  return names.includes('*') ? ['*'] : [...new Set(names)].toSorted()
}

/** The permissions of a principal, as `GET /api/v1/me` lists them. */
export function permissionsOf(principal: Principal): readonly Permission[] {
  const grants = grantsOf(principal)
  return PERMISSIONS.filter((each) => grants.some(({ permissions }) => permissions.has(each)))
}

/** Whether two principals have the same rights, in any order. */
export function sameGrants(one: Principal, other: Principal): boolean {
  const text = (principal: Principal): string => JSON.stringify(grantsOf(principal).map(grantText).toSorted())
  return text(one) === text(other)
}

const coversType = ({ types }: Grant, type: string): boolean => types.has('*') || types.has(type)

const coversWorker = ({ workers }: Grant, worker: string): boolean => workers.some((own) => matches(own, worker))

function matches(own: string, worker: string): boolean {
  return own.endsWith('*') ? worker.startsWith(own.slice(0, -1)) : own === worker
}

function isInside(pattern: string, own: string): boolean {
  if (!own.endsWith('*')) return pattern === own && !/[*?]/.test(pattern)
  const [literal = ''] = pattern.split(/[*?]/, 1)
  return literal.startsWith(own.slice(0, -1))
}

const grantText = ({ permissions, types, workers }: Grant): string =>
  JSON.stringify([permissions, types, workers].map((each) => [...each].toSorted()))
