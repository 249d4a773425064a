/**
 * @module master/auth/jwt/verifier
 * Verifies JWTs of the issuers of SVC_JWT_ISSUERS, and remembers those that are valid until they expire, so that a
 * token is verified once.
 *
 *   form ▶ issuer ▶ algorithm ▶ time ▶ at most 200 verifications/s ▶ key ▶ signature, audience ▶ rules ▶ grants
 *
 * What costs little is checked first, so that a flood of tokens that are obviously wrong does not use up the
 * verifications of good ones.
 * @see D230, D231
 */
import { createHash } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import { FleetError, MAX_ACTOR_CHARS, type JsonObject } from '../../../protocol/index.ts'
import { BoundedMap, CONTROLS, TokenBucket, type Clock, type Log } from '../../../runtime/index.ts'
import type { Authentication } from '../authenticator.ts'
import type { Grant, Principal } from '../principal.ts'
import type { IssuerSettings } from './issuer-settings.ts'
import { readJwt } from './jwt-text.ts'
import { KeySet, type KeyReader, type SigningKey } from './key-set.ts'
import { claimAt, grantsFor } from './rules.ts'

const MAX_REMEMBERED = 10_000
const VERIFICATIONS_PER_SECOND = 200
const MAX_AGE_SECONDS = 86_400
const WRONG_SIGNATURE = 'its signature is not one of its issuer'

export interface JwtVerifierDeps {
  readonly clock: Clock
  readonly log: Log
  readonly reader: KeyReader
  /** Called when tokens that were valid no longer are: an issuer changed, or withdrew a key. */
  readonly onRevoked: () => void
}

interface Issuer {
  readonly settings: IssuerSettings
  readonly keys: KeySet
}

interface ReadToken {
  readonly token: string
  readonly alg: string
  readonly kid: string | null
  readonly claims: JsonObject
  readonly issuer: Issuer
}

/** Thrown for a token that is not accepted. The message completes "this token is not accepted: …". */
class Refusal extends Error {}

export class JwtVerifier {
  readonly #deps: JwtVerifierDeps
  readonly #remembered = new BoundedMap<string, Principal>(MAX_REMEMBERED)
  /** By digest, so that a new token is verified once when it comes with many requests at the same time. */
  readonly #verifying = new Map<string, Promise<Authentication>>()
  readonly #bucket: TokenBucket
  /** By the claim `iss`. */
  #issuers: ReadonlyMap<string, Issuer> = new Map()

  constructor(deps: JwtVerifierDeps) {
    this.#deps = deps
    this.#bucket = new TokenBucket(deps.clock, {
      capacity: VERIFICATIONS_PER_SECOND,
      perSecond: VERIFICATIONS_PER_SECOND,
    })
  }

  /** Replaces the issuers. The keys of those that stay as they are stay as well. */
  replace(issuers: readonly IssuerSettings[]): void {
    const known = this.#issuers
    this.#issuers = new Map(
      issuers.map((settings) => {
        const same = known.get(settings.issuer)
        const isSame = same !== undefined && JSON.stringify(same.settings) === JSON.stringify(settings)
        return [settings.issuer, isSame ? same : this.#issuerOf(settings)]
      }),
    )
    for (const issuer of this.#issuers.values())
      if (known.get(issuer.settings.issuer) !== issuer) void issuer.keys.refresh()
    this.#forgetRevoked()
  }

  /** @returns the principal of a token that was verified and has not expired; undefined for another one. */
  known(digest: Buffer): Principal | undefined {
    const principal = this.#remembered.use(digest.toString('base64url'))
    return principal !== undefined && !this.#isExpired(principal) ? principal : undefined
  }

  /** Whether the text has the form of a JWT, and JWTs are accepted at all. */
  isCandidate(token: string): boolean {
    return this.#issuers.size > 0 && readJwt(token).kind !== 'other'
  }

  /** Whether a token that was verified is still accepted. */
  isStillValid(principal: Principal): boolean {
    const { jwt } = principal
    const issuer = jwt === undefined ? undefined : this.#issuers.get(jwt.issuer.issuer)
    if (jwt === undefined || issuer?.settings !== jwt.issuer) return false
    return issuer.keys.has(jwt.keyId) && !this.#isExpired(principal)
  }

  /** Forgets tokens that have expired. @returns whether there were any. */
  forgetExpired(): boolean {
    return this.#forget((principal) => this.#isExpired(principal))
  }

  /** @throws {FleetError} OVERLOADED if too many new tokens are to be verified. */
  verify(token: string): Promise<Authentication> {
    const digest = createHash('sha256').update(token).digest('base64url')
    const running = this.#verifying.get(digest)
    if (running !== undefined) return running
    const started = this.#verify(token, digest).finally(() => this.#verifying.delete(digest))
    this.#verifying.set(digest, started)
    return started
  }

  async #verify(token: string, digest: string): Promise<Authentication> {
    try {
      const read = this.#read(token)
      if (!this.#bucket.take())
        throw new FleetError('OVERLOADED', 'too many new tokens are being verified; try again in a second', {
          retryAfterSeconds: 1,
        })
      const principal = await this.#principalOf(read)
      this.#remembered.set(digest, principal)
      return { kind: 'authenticated', principal }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { kind: 'rejected', reason: 'invalid', detail: `this token is not accepted: ${error.message}` }
    }
  }

  #read(token: string): ReadToken {
    const reading = readJwt(token)
    if (reading.kind === 'other') throw new Refusal('it is no JWT')
    if (reading.kind === 'refused') throw new Refusal(`it ${reading.why}`)
    const { header, claims } = reading
    const issuer = typeof claims['iss'] === 'string' ? this.#issuers.get(claims['iss']) : undefined
    if (issuer === undefined) throw new Refusal('its issuer is not known')
    if (!issuer.settings.algorithms.includes(header.alg)) throw new Refusal('its algorithm is not allowed')
    this.#checkTimes(claims, issuer.settings)
    return { token, ...header, claims, issuer }
  }

  #checkTimes({ exp, nbf, iat }: JsonObject, { leewaySeconds }: IssuerSettings): void {
    const nowSeconds = this.#deps.clock.wallMs() / 1_000
    if (typeof exp !== 'number' || typeof iat !== 'number') throw new Refusal('it has no claims "exp" and "iat"')
    if (exp + leewaySeconds <= nowSeconds) throw new Refusal('it has expired; get a new one')
    if (iat - leewaySeconds > nowSeconds) throw new Refusal('it was issued in the future; check the clocks')
    if (nowSeconds - iat > MAX_AGE_SECONDS + leewaySeconds)
      throw new Refusal('it is more than a day old; get a new one')
    if (nbf !== undefined && (typeof nbf !== 'number' || nbf - leewaySeconds > nowSeconds))
      throw new Refusal('it is not valid yet; check the clocks')
  }

  async #principalOf(read: ReadToken): Promise<Principal> {
    const { issuer, kid, alg, claims } = read
    const key = await issuer.keys.find(kid, alg)
    if (key === null) throw new Refusal(WRONG_SIGNATURE)
    await this.#checkSignature(read, key)
    const { settings } = issuer
    const grants = grantsFor(claims, settings.rules)
    if (grants.length === 0) throw new FleetError('FORBIDDEN', 'this token grants nothing here')
    const actor = actorOf(claims, settings)
    return {
      role: roleOf(grants),
      grants,
      key: createHash('sha256')
        .update(JSON.stringify([settings.issuer, actor, claims['sub']]))
        .digest('base64url'),
      id: actor,
      name: actor,
      expiresAtMs: this.#expiryOf(claims, settings),
      jwt: { issuer: settings, keyId: key.id },
    }
  }

  async #checkSignature({ token, issuer, alg }: ReadToken, { key }: SigningKey): Promise<void> {
    const { settings } = issuer
    const options = {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [alg],
      clockTolerance: settings.leewaySeconds,
      currentDate: new Date(this.#deps.clock.wallMs()),
    }
    try {
      await jwtVerify(token, key, options)
    } catch (error) {
      const isOfOther = error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud'
      throw new Refusal(isOfOther ? 'it is made for another audience' : WRONG_SIGNATURE)
    }
  }

  /** A token that a client with a late clock sends within the leeway is accepted until the end of it. */
  #expiryOf({ exp }: JsonObject, { leewaySeconds }: IssuerSettings): number {
    const expiresAtMs = Number(exp) * 1_000
    return expiresAtMs > this.#deps.clock.wallMs() ? expiresAtMs : expiresAtMs + leewaySeconds * 1_000
  }

  #issuerOf(settings: IssuerSettings): Issuer {
    const keys = new KeySet({ ...this.#deps, issuer: settings, onWithdrawn: () => this.#forgetRevoked() })
    return { settings, keys }
  }

  #forgetRevoked(): void {
    this.#forget((principal) => !this.isStillValid(principal))
    this.#deps.onRevoked()
  }

  #forget(isOver: (principal: Principal) => boolean): boolean {
    let hasForgotten = false
    for (const [digest, principal] of this.#remembered) {
      if (!isOver(principal)) continue
      this.#remembered.delete(digest)
      hasForgotten = true
    }
    return hasForgotten
  }

  #isExpired({ expiresAtMs = Infinity }: Principal): boolean {
    return expiresAtMs <= this.#deps.clock.wallMs()
  }
}

/** The name of the holder: the claim `actor_claim`, otherwise `sub`. */
function actorOf(claims: JsonObject, { actorClaim, name }: IssuerSettings): string {
  const actor = claimAt(claims, actorClaim) ?? claims['sub']
  const text = typeof actor === 'string' && actor.trim() !== '' ? actor : `a token of ${name}`
  return text.replaceAll(CONTROLS, '?').slice(0, MAX_ACTOR_CHARS)
}

function roleOf(grants: readonly Grant[]): Principal['role'] {
  const has = (permission: 'fleet' | 'work' | 'scale'): boolean =>
    grants.some(({ permissions }) => permissions.has(permission))
  const hasOnly = (permission: 'work' | 'scale'): boolean =>
    grants.every(({ permissions }) => permissions.size === 1 && permissions.has(permission))
  if (has('fleet')) return 'admin'
  if (hasOnly('work')) return 'worker'
  return hasOnly('scale') ? 'scaler' : 'scoped'
}
