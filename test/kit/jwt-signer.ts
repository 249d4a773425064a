/** An issuer of JWTs for tests: key pairs, its key set, and signed tokens. */
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'
import type { CryptoKey } from 'jose'

export const ISSUER = 'https://idp.example'
const AUDIENCE = 'muster'

export interface Signer {
  readonly kid: string
  readonly publicJwk: JWK
  /** Signs claims on top of valid ones. A claim that is undefined is left out. */
  readonly sign: (
    claims: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ) => Promise<string>
}

/** @param nowMs The wall clock: tokens are issued now and expire in an hour. */
export async function createSigner(nowMs: () => number, kid = 'key-1', alg = 'ES256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
  return {
    kid,
    publicJwk,
    sign: (claims, header = {}) => signWith(privateKey, nowMs(), { alg, kid, ...header }, claims),
  }
}

function signWith(
  key: CryptoKey,
  nowMs: number,
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const seconds = Math.floor(nowMs / 1_000)
  const all = { iss: ISSUER, aud: AUDIENCE, sub: 'ana', iat: seconds, exp: seconds + 3_600, ...claims }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given).setProtectedHeader({ alg: 'ES256', ...header }).sign(key)
}

/** A token of any parts, with a signature that is made of its third part alone. */
export const rawToken = (header: string, claims: string, signature = 'AAAA'): string =>
  [header, claims]
    .map((part) => Buffer.from(part).toString('base64url'))
    .concat(signature)
    .join('.')
