/**
 * @module master/auth/jwt/key-set
 * Holds the public keys of one issuer, from a file, a URL, or the discovery document of the issuer.
 *
 *   find(kid) ── known ──▶ key            older than 10 min: read again in the background
 *        └────── unknown ──▶ read again, at most every 30 s ──▶ key or null
 *
 * While the source cannot be read, the old keys stay: an identity provider that is down must not lock out its users.
 */
import type { webcrypto } from 'node:crypto'
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import type { Clock, Log } from '../../../runtime/index.ts'
import { isAllowedUrl, type IssuerSettings } from './issuer-settings.ts'

const FRESH_MS = 600_000
const COOLDOWN_MS = 30_000
/** While no keys are known, for example because the issuer starts at the same time as the master. */
const NO_KEYS_COOLDOWN_MS = 2_000
/** A file is local, and the kubelet replaces it while the process runs. */
const FILE_FRESH_MS = 2_000
const MAX_KEYS = 100

/** Reads the text of a file or of a URL. @throws {Error} */
export interface KeyReader {
  readonly file: (path: string) => Promise<string>
  readonly url: (url: string) => Promise<string>
}

export interface SigningKey {
  /** The `kid` of the key, or its thumbprint. */
  readonly id: string
  readonly key: CryptoKey
}
type CryptoKey = webcrypto.CryptoKey

interface KnownKey {
  readonly id: string
  readonly jwk: JWK
}

export interface KeySetDeps {
  readonly issuer: IssuerSettings
  readonly reader: KeyReader
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  /** Called after a key was withdrawn. */
  readonly onWithdrawn: () => void
}

export class KeySet {
  readonly #deps: KeySetDeps
  #keys: readonly KnownKey[] = []
  #readAtMs = -Infinity
  #reading: Promise<void> | null = null
  #lastFault = ''

  constructor(deps: KeySetDeps) {
    this.#deps = deps
  }

  /** Whether the source named the key the last time that it could be read. */
  has(id: string): boolean {
    return this.#keys.some((each) => each.id === id)
  }

  /** @param kid The `kid` of a token; null if it names none, which is only accepted if one key fits. */
  async find(kid: string | null, alg: string): Promise<SigningKey | null> {
    const { kind } = this.#deps.issuer.keys
    const ageMs = this.#deps.clock.monotonicMs() - this.#readAtMs
    if (kind === 'file' && ageMs >= FILE_FRESH_MS) await this.refresh()
    else if (ageMs >= FRESH_MS && this.#keys.length > 0) void this.refresh()
    const cooldownMs = this.#keys.length > 0 ? COOLDOWN_MS : NO_KEYS_COOLDOWN_MS
    if (this.#fitting(kid, alg) === null) await (ageMs >= cooldownMs ? this.refresh() : this.#reading)
    const known = this.#fitting(kid, alg)
    if (known === null) return null
    return { id: known.id, key: (await importJWK(known.jwk, alg)) as CryptoKey }
  }

  /** Reads the source. Callers during a read share it. Resolves also if the source cannot be read. */
  refresh(): Promise<void> {
    this.#reading ??= this.#refresh().finally(() => (this.#reading = null))
    return this.#reading
  }

  #fitting(kid: string | null, alg: string): KnownKey | null {
    const fitting = this.#keys.filter(({ id, jwk }) => (kid === null || id === kid) && fits(jwk, alg))
    return fitting.length === 1 ? (fitting[0] ?? null) : null
  }

  async #refresh(): Promise<void> {
    const { issuer, clock, log, onWithdrawn } = this.#deps
    this.#readAtMs = clock.monotonicMs()
    try {
      const keys = await keysIn(await this.#read())
      const hasWithdrawn = this.#keys.some(({ id }) => !keys.some((each) => each.id === id))
      this.#keys = keys
      this.#lastFault = ''
      if (hasWithdrawn) onWithdrawn()
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error)
      if (fault !== this.#lastFault)
        log.warn('failed to read the keys of an issuer; the keys that were read before stay valid', {
          issuer: issuer.name,
          error,
        })
      this.#lastFault = fault
    }
  }

  async #read(): Promise<string> {
    const { issuer, reader } = this.#deps
    const { keys } = issuer
    if (keys.kind === 'file') return reader.file(keys.path)
    return reader.url(keys.kind === 'url' ? keys.url : await discoveredUrl(issuer, reader))
  }
}

/** Reads the discovery document of an issuer. @throws {Error} if it cannot be read, or is of another issuer. */
export async function discoveryOf(
  { issuer }: IssuerSettings,
  reader: Pick<KeyReader, 'url'>,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await reader.url(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const document = JSON.parse(text) as Readonly<Record<string, unknown>> | null
  if (document?.['issuer'] !== issuer) throw new Error('the discovery document is of another issuer')
  return document
}

/** @throws {Error} if the document names a URL that must not be read. */
async function discoveredUrl(issuer: IssuerSettings, reader: KeyReader): Promise<string> {
  const { jwks_uri: url } = await discoveryOf(issuer, reader)
  if (!isAllowedUrl(url)) throw new Error('the discovery document names no https:// URL of keys')
  return url
}

/** @returns the public keys for signatures. Others of the set are left out. @throws {Error} if it is not a key set. */
async function keysIn(text: string): Promise<readonly KnownKey[]> {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown }
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new Error(`this is not a set of at most ${MAX_KEYS} keys`)
  const found: KnownKey[] = []
  for (const jwk of keys as (JWK | null)[]) {
    if (jwk === null || !isPublicSigningKey(jwk)) continue
    found.push({ id: typeof jwk.kid === 'string' ? jwk.kid : await calculateJwkThumbprint(jwk), jwk })
  }
  if (found.length === 0) throw new Error('the set has no public key for signatures')
  return found
}

function isPublicSigningKey({ kty, use, d, k }: JWK): boolean {
  const isPublic = d === undefined && k === undefined && ['RSA', 'EC', 'OKP'].includes(kty ?? '')
  return isPublic && (use === undefined || use === 'sig')
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** Whether the key is one for the algorithm. */
function fits({ kty, crv, alg: own }: JWK, alg: string): boolean {
  if (own !== undefined && own !== alg) return false
  if (alg.startsWith('RS') || alg.startsWith('PS')) return kty === 'RSA'
  return alg.startsWith('ES') ? kty === 'EC' && crv === CURVES[alg] : kty === 'OKP' && crv === 'Ed25519'
}
