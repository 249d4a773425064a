/**
 * @module master/auth/authenticator
 * Who is calling. A presented token is hashed and compared with the hash of every token there is, each in constant
 * time and none left out, so that neither the outcome nor which one matched shows in the time taken.
 *
 * Tokens may be replaced while the master runs (D22). Whoever keeps a connection open asks {@link Authenticator.still}
 * again when `onChange` calls.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../http/route.ts'
import type { TokenSettings } from './token-settings.ts'

/** Why a header names nobody: absent, not of the form `Bearer <token>`, or a token that is not known. */
type Stranger = 'missing' | 'malformed' | 'wrong'

export interface Authenticator {
  /** The value of an `Authorization` header. */
  authenticate(header: string | undefined): Principal | Stranger
  /** A token by itself, as `?token=` brings it. */
  identify(bearerToken: string): Principal | 'wrong'
  /** Whether this principal's token is still accepted with the same rights. */
  still(principal: Principal): boolean
  replace(tokens: TokenSettings): void
  /** Calls `listener` after the tokens were replaced; answers how to stop. */
  onChange(listener: () => void): () => void
}

interface Candidate {
  readonly digest: Buffer
  readonly principal: Principal
}

/** The scheme is compared without case (RFC 9110 section 11.1). */
const BEARER = /^bearer ([\x21-\x7e]+)$/i

/** The token of an `Authorization` header; undefined when it is not of the form `Bearer <token>`. */
export function bearerTokenOf(header: string): string | undefined {
  return BEARER.exec(header)?.[1]
}

/** @param equal compares two digests of one length, in a time that does not tell where they differ */
export function createAuthenticator(
  tokens: TokenSettings,
  equal: (one: Buffer, other: Buffer) => boolean = timingSafeEqual,
): Authenticator {
  let candidates = candidatesOf(tokens)
  const listeners = new Set<() => void>()
  const identify = (bearerToken: string): Principal | 'wrong' => {
    const digest = digestOf(bearerToken)
    let found: Principal | 'wrong' = 'wrong'
    for (const each of candidates) if (equal(each.digest, digest)) found = each.principal
    return found
  }
  return {
    identify,
    authenticate: (header) => {
      if (header === undefined) return 'missing'
      const bearerToken = bearerTokenOf(header)
      return bearerToken === undefined ? 'malformed' : identify(bearerToken)
    },
    still: (principal) => candidates.some((each) => sameRights(each.principal, principal)),
    replace: (next) => {
      candidates = candidatesOf(next)
      for (const listener of listeners) listener()
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Whether `principal` may use what belongs to an automation type: compared whole, never as a pattern. */
export function covers(principal: Principal, type: string): boolean {
  if (principal.role === 'admin') return true
  return principal.role === 'scoped' && (principal.types.has('*') || principal.types.has(type))
}

function candidatesOf({ admin, worker, workerPeers, scopes }: TokenSettings): readonly Candidate[] {
  return [
    ...(admin === null ? [] : [candidate(admin, (key) => ({ role: 'admin', key }))]),
    ...(worker === null ? [] : [worker])
      .concat(workerPeers)
      .map((each) => candidate(each, (key) => ({ role: 'worker', key }))),
    ...[...scopes].map(([token, types]) => candidate(token, (key) => ({ role: 'scoped', types: new Set(types), key }))),
  ]
}

function candidate(bearerToken: string, principal: (key: string) => Principal): Candidate {
  const digest = digestOf(bearerToken)
  return { digest, principal: principal(digest.toString('base64url')) }
}

const digestOf = (bearerToken: string): Buffer => createHash('sha256').update(bearerToken).digest()

function sameRights(one: Principal, other: Principal): boolean {
  if (one.key !== other.key || one.role !== other.role) return false
  if (one.role !== 'scoped' || other.role !== 'scoped') return true
  return one.types.size === other.types.size && [...one.types].every((type) => other.types.has(type))
}
