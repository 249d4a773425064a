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
import { FleetError, SCOPED_PERMISSIONS, type Permission } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { IssuerSettings, JwtVerifier } from './jwt/index.ts'
import type { NamedToken } from './named-tokens.ts'
import { EVERY_WORKER, mayAccess, sameGrants, type Principal } from './principal.ts'
import type { TokenSettings } from './token-settings.ts'

export type Authentication =
  | { readonly kind: 'authenticated'; readonly principal: Principal }
  /** The header is absent, not of the form `Bearer <token>`, or has an unknown token. */
  | { readonly kind: 'rejected'; readonly reason: 'missing' | 'malformed' | 'wrong' }
  /** `detail` says why, and what to do. `invalid`: a JWT. */
  | { readonly kind: 'rejected'; readonly reason: 'expired' | 'invalid'; readonly detail: string }
  /** A JWT that is not known. `verify` never returns this kind. @throws {FleetError} OVERLOADED, FORBIDDEN. */
  | { readonly kind: 'unverified'; readonly verify: () => Promise<Authentication> }

export interface Authenticator {
  /** @param header The value of an `Authorization` header. */
  authenticate(header: string | undefined): Authentication
  /** @param bearerToken The token alone, as in `?token=`. */
  check(bearerToken: string): Authentication
  /** @returns the principal of a token that is accepted; undefined for another one. */
  identify(bearerToken: string): Principal | undefined
  /** Whether this principal's token is still accepted with the same rights. */
  isStillValid(principal: Principal): boolean
  /** @returns the issuer of JWTs with this name; undefined if the settings have none. */
  issuer(name: string): IssuerSettings | undefined
  replace(tokens: TokenSettings): void
  /** Calls `listener` after every token change, and after a token expired. @returns a function that unsubscribes. */
  onChange(listener: () => void): () => void
  /** Looks every second for tokens that expired. @returns a function that stops it. */
  start(timers: Pick<Timers, 'every'>): () => void
}

interface Candidate {
  readonly digest: Buffer
  readonly principal: Principal
}

/** Digits of the digest that are shown: enough to distinguish tokens, too few to guess one. */
const ID_CHARS = 8

/** The most headers that are remembered. A valid token may be sent in several spellings of the header. */
const MAX_REMEMBERED = 1_000

const CHECK_EXPIRY_EVERY_MS = 1_000

/** The scheme is compared without case, and one or more spaces follow it (RFC 9110 sections 11.1, 11.4). */
const BEARER = /^bearer +([\x21-\x7e]+)$/i

/** The token of an `Authorization` header; undefined when it is not of the form `Bearer <token>`. */
export function bearerTokenOf(header: string): string | undefined {
  return BEARER.exec(header)?.[1]
}

export interface AuthenticatorDeps {
  readonly clock: Pick<Clock, 'wallMs'>
  /** Compares two digests of the same length in constant time. */
  readonly equal?: (one: Buffer, other: Buffer) => boolean
  /** Makes what verifies JWTs. If left out, none is accepted. */
  readonly createVerifier?: (onRevoked: () => void) => JwtVerifier
}

export function createAuthenticator(tokens: TokenSettings, deps: AuthenticatorDeps): Authenticator {
  return new TokenAuthenticator(tokens, deps)
}

class TokenAuthenticator implements Authenticator {
  readonly #clock: AuthenticatorDeps['clock']
  readonly #equal: NonNullable<AuthenticatorDeps['equal']>
  readonly #remembered = new Map<string, Principal>()
  readonly #listeners = new Set<() => void>()
  readonly #verifier: JwtVerifier | null
  #candidates: readonly Candidate[]
  #issuers: readonly IssuerSettings[]
  #checkedMs: number

  constructor(tokens: TokenSettings, { clock, equal = timingSafeEqual, createVerifier }: AuthenticatorDeps) {
    this.#clock = clock
    this.#equal = equal
    this.#candidates = candidatesOf(tokens)
    this.#issuers = tokens.issuers ?? []
    this.#checkedMs = clock.wallMs()
    this.#verifier = createVerifier?.(() => this.#changed()) ?? null
    this.#verifier?.replace(this.#issuers)
  }

  authenticate(header: string | undefined): Authentication {
    if (header === undefined) return { kind: 'rejected', reason: 'missing' }
    const known = this.#remembered.get(header)
    if (known !== undefined && !this.#isExpired(known)) return { kind: 'authenticated', principal: known }
    const bearerToken = bearerTokenOf(header)
    if (bearerToken === undefined) return { kind: 'rejected', reason: 'malformed' }
    const authentication = this.check(bearerToken)
    if (authentication.kind !== 'authenticated') return authentication
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(header, authentication.principal)
    return authentication
  }

  check(bearerToken: string): Authentication {
    const digest = digestOf(bearerToken)
    let found: Principal | undefined
    for (const each of this.#candidates) if (this.#equal(each.digest, digest)) found = each.principal
    if (found !== undefined) return this.#unlessExpired(found)
    return this.#checkJwt(bearerToken, digest) ?? { kind: 'rejected', reason: 'wrong' }
  }

  #checkJwt(bearerToken: string, digest: Buffer): Authentication | null {
    const verifier = this.#verifier
    if (verifier === null || !verifier.isCandidate(bearerToken)) return null
    const principal = verifier.known(digest)
    if (principal !== undefined) return { kind: 'authenticated', principal }
    return { kind: 'unverified', verify: () => verifier.verify(bearerToken) }
  }

  identify(bearerToken: string): Principal | undefined {
    const authentication = this.check(bearerToken)
    return authentication.kind === 'authenticated' ? authentication.principal : undefined
  }

  isStillValid(principal: Principal): boolean {
    if (principal.jwt !== undefined) return this.#verifier?.isStillValid(principal) ?? false
    if (this.#isExpired(principal)) return false
    return this.#candidates.some((each) => sameRights(each.principal, principal))
  }

  issuer(name: string): IssuerSettings | undefined {
    return this.#issuers.find((each) => each.name === name)
  }

  replace(tokens: TokenSettings): void {
    this.#candidates = candidatesOf(tokens)
    this.#issuers = tokens.issuers ?? []
    this.#verifier?.replace(this.#issuers)
    this.#changed()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  start(timers: Pick<Timers, 'every'>): () => void {
    return timers.every(CHECK_EXPIRY_EVERY_MS, () => this.#checkExpiry())
  }

  #checkExpiry(): void {
    const fromMs = this.#checkedMs
    this.#checkedMs = this.#clock.wallMs()
    const hasExpired = this.#candidates.some(
      ({ principal: { expiresAtMs = Infinity } }) => expiresAtMs > fromMs && expiresAtMs <= this.#checkedMs,
    )
    const hasForgotten = this.#verifier?.forgetExpired() ?? false
    if (hasExpired || hasForgotten) this.#changed()
  }

  #unlessExpired(principal: Principal): Authentication {
    if (!this.#isExpired(principal)) return { kind: 'authenticated', principal }
    const detail = `this token expired at ${timeText(principal.expiresAtMs ?? 0)}; use a new one`
    return { kind: 'rejected', reason: 'expired', detail }
  }

  #isExpired({ expiresAtMs = Infinity }: Principal): boolean {
    return expiresAtMs <= this.#clock.wallMs()
  }

  #changed(): void {
    this.#remembered.clear()
    for (const listener of this.#listeners) listener()
  }
}

const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/**
 * Rejects a principal that has none of the permissions `needs`, or whose token does not cover `type` or `worker`.
 * @param type undefined if the path has no type; a scoped token then sees what belongs to its own types.
 * @param worker The id of the worker that the call is about; undefined if it is about none.
 * @throws {FleetError} FORBIDDEN.
 */
export function requirePermission(
  principal: Principal,
  needs: Permission | readonly Permission[],
  type?: string,
  worker?: string,
): void {
  const any = typeof needs === 'string' ? [needs] : needs
  if (any.some((each) => mayAccess(principal, each, type, worker))) return
  if (!any.some((each) => mayAccess(principal, each)))
    throw forbidden(`have the permission ${any.map((each) => JSON.stringify(each)).join(' or ')}`)
  if (type !== undefined && !any.some((each) => mayAccess(principal, each, type)))
    throw forbidden(`cover the automation type ${JSON.stringify(type)}`)
  throw forbidden(`cover the worker ${JSON.stringify(worker)}`)
}

const forbidden = (what: string): FleetError => new FleetError('FORBIDDEN', `this token does not ${what}`)

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
        grants: [{ permissions: editor, types: new Set(types), workers: EVERY_WORKER }],
        key,
        id,
      })),
    ),
    ...named.map((token) => candidate(Buffer.from(token.sha256, 'hex'), (key) => namedPrincipal(token, key))),
  ]
}

function namedPrincipal(token: NamedToken, key: string): Principal {
  const { name, types, permissions, workers = EVERY_WORKER, expiresAtMs, submitRps } = token
  return {
    role: permissions.includes('work') ? 'worker' : 'scoped',
    grants: [{ permissions: new Set(permissions), types: new Set(types), workers }],
    key,
    id: name,
    name,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(submitRps !== undefined && { submitRps }),
  }
}

function candidate(digest: Buffer, principal: (key: string, id: string) => Principal): Candidate {
  return { digest, principal: principal(digest.toString('base64url'), digest.toString('hex').slice(0, ID_CHARS)) }
}

const digestOf = (bearerToken: string): Buffer => hash('sha256', bearerToken, 'buffer')

function sameRights(one: Principal, other: Principal): boolean {
  if (one.key !== other.key || one.role !== other.role || one.expiresAtMs !== other.expiresAtMs) return false
  return one.submitRps === other.submitRps && sameGrants(one, other)
}
