/**
 * @module master/auth/authenticator
 * Finds the principal of a token. A presented token is hashed and compared with the hash of every configured token, in
 * constant time and without stopping at a match. The time taken shows neither the result nor which token matched.
 *
 * Headers with a valid token are remembered, so that most requests cost one lookup in a Map. The Map compares texts
 * only if their hashes are equal, and V8 draws the seed of these hashes at start. So the time of a lookup shows nothing
 * about a token that is wrong.
 *
 * Tokens may be replaced while the master runs (D22). Code that keeps a connection open calls
 * {@link Authenticator.isStillValid} again after each `onChange`.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { FleetError, ROLE_PERMISSIONS, SCOPED_PERMISSIONS, type Permission } from '../../protocol/index.ts'
import type { Principal } from './principal.ts'
import type { TokenSettings } from './token-settings.ts'

export type Authentication =
  | { readonly kind: 'authenticated'; readonly principal: Principal }
  /** The header is absent, not of the form `Bearer <token>`, or has an unknown token. */
  | { readonly kind: 'rejected'; readonly reason: 'missing' | 'malformed' | 'wrong' }

export interface Authenticator {
  /** @param header The value of an `Authorization` header. */
  authenticate(header: string | undefined): Authentication
  /** @param bearerToken The token alone, as in `?token=`. @returns undefined for an unknown token. */
  identify(bearerToken: string): Principal | undefined
  /** Whether this principal's token is still accepted with the same rights. */
  isStillValid(principal: Principal): boolean
  replace(tokens: TokenSettings): void
  /** Calls `listener` after every token change. @returns a function that unsubscribes. */
  onChange(listener: () => void): () => void
}

interface Candidate {
  readonly digest: Buffer
  readonly principal: Principal
}

/** Digits of the digest that are shown: enough to distinguish tokens, too few to guess one. */
const ID_CHARS = 8

/** The most headers that are remembered. A valid token may be sent in several spellings of the header. */
const MAX_REMEMBERED = 1_000

/** The scheme is compared without case, and one or more spaces follow it (RFC 9110 sections 11.1, 11.4). */
const BEARER = /^bearer +([\x21-\x7e]+)$/i

/** The token of an `Authorization` header; undefined when it is not of the form `Bearer <token>`. */
export function bearerTokenOf(header: string): string | undefined {
  return BEARER.exec(header)?.[1]
}

/** @param equal Compares two digests of the same length in constant time. */
export function createAuthenticator(
  tokens: TokenSettings,
  equal: (one: Buffer, other: Buffer) => boolean = timingSafeEqual,
): Authenticator {
  let candidates = candidatesOf(tokens)
  const remembered = new Map<string, Authentication>()
  const listeners = new Set<() => void>()
  const identify = (bearerToken: string): Principal | undefined => {
    const digest = digestOf(bearerToken)
    let found: Principal | undefined
    for (const each of candidates) if (equal(each.digest, digest)) found = each.principal
    return found
  }
  return {
    identify,
    authenticate: (header) => {
      if (header === undefined) return { kind: 'rejected', reason: 'missing' }
      const known = remembered.get(header)
      if (known !== undefined) return known
      const bearerToken = bearerTokenOf(header)
      if (bearerToken === undefined) return { kind: 'rejected', reason: 'malformed' }
      const principal = identify(bearerToken)
      if (principal === undefined) return { kind: 'rejected', reason: 'wrong' }
      const authentication: Authentication = { kind: 'authenticated', principal }
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      remembered.set(header, authentication)
      return authentication
    },
    isStillValid: (principal) => candidates.some((each) => sameRights(each.principal, principal)),
    replace: (next) => {
      candidates = candidatesOf(next)
      remembered.clear()
      for (const listener of listeners) listener()
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Whether `principal` may use an automation type. Types are compared as a whole, never as a pattern. */
export function covers(principal: Principal, type: string): boolean {
  if (principal.role === 'admin') return true
  return principal.role === 'scoped' && (principal.types.has('*') || principal.types.has(type))
}

/** The permissions of a principal, as `GET /api/v1/me` lists them. */
export function permissionsOf(principal: Principal): readonly Permission[] {
  return principal.role === 'scoped'
    ? SCOPED_PERMISSIONS.filter((each) => principal.permissions.has(each))
    : ROLE_PERMISSIONS[principal.role]
}

/**
 * Rejects a principal that has none of the permissions `needs`, or whose token does not cover `type`.
 * @param type undefined if the path has no type; a scoped token then sees what belongs to its own types.
 * @throws {FleetError} FORBIDDEN.
 */
export function requirePermission(
  principal: Principal,
  needs: Permission | readonly Permission[],
  type?: string,
): void {
  const any = typeof needs === 'string' ? [needs] : needs
  if (!any.some((each) => hasPermission(principal, each))) {
    throw new FleetError(
      'FORBIDDEN',
      `this token does not have the permission ${any.map((each) => JSON.stringify(each)).join(' or ')}`,
    )
  }
  if (type !== undefined && principal.role === 'scoped' && !covers(principal, type)) {
    throw new FleetError('FORBIDDEN', `this token does not cover the automation type ${JSON.stringify(type)}`)
  }
}

function hasPermission(principal: Principal, permission: Permission): boolean {
  if (principal.role === 'scoped') return principal.permissions.has(permission)
  return (ROLE_PERMISSIONS[principal.role] as readonly Permission[]).includes(permission)
}

function candidatesOf({ admin, worker, scaler, workerPeers, scopes, named = [] }: TokenSettings): readonly Candidate[] {
  const editor = new Set<Permission>(SCOPED_PERMISSIONS)
  return [
    ...(admin === null ? [] : [candidate(digestOf(admin), (key, id) => ({ role: 'admin', key, id }))]),
    ...(scaler === undefined ? [] : [candidate(digestOf(scaler), (key, id) => ({ role: 'scaler', key, id }))]),
    ...(worker === null ? [] : [worker])
      .concat(workerPeers)
      .map((each) => candidate(digestOf(each), (key, id) => ({ role: 'worker', key, id }))),
    ...[...scopes].map(([token, types]) =>
      candidate(digestOf(token), (key, id) => ({
        role: 'scoped',
        types: new Set(types),
        permissions: editor,
        key,
        id,
      })),
    ),
    ...named.map(({ name, types, permissions, sha256 }) =>
      candidate(Buffer.from(sha256, 'hex'), (key) => ({
        role: 'scoped',
        types: new Set(types),
        permissions: new Set(permissions),
        key,
        id: name,
        name,
      })),
    ),
  ]
}

function candidate(digest: Buffer, principal: (key: string, id: string) => Principal): Candidate {
  return { digest, principal: principal(digest.toString('base64url'), digest.toString('hex').slice(0, ID_CHARS)) }
}

const digestOf = (bearerToken: string): Buffer => hash('sha256', bearerToken, 'buffer')

function sameRights(one: Principal, other: Principal): boolean {
  if (one.key !== other.key || one.role !== other.role) return false
  if (one.role !== 'scoped' || other.role !== 'scoped') return true
  return sameSet(one.types, other.types) && sameSet(one.permissions, other.permissions)
}

const sameSet = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((each) => other.has(each))
