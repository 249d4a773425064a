/** @module worker/token-lifetime  Reads when a worker should use a new token, if its token is a JWT. */

/** The share of its lifetime after which a token is replaced. The kubelet writes a new one after the same share. */
const RENEWED_AFTER = 0.8

/**
 * The wall clock at which 80 % of the lifetime of a token have passed. Nothing is verified: that is up to the master.
 * @returns null for a token that is no JWT, or has no expiry.
 */
export function renewalMsOf(token: string): number | null {
  const [, claims, signature] = token.split('.')
  if (claims === undefined || signature === undefined) return null
  try {
    const { exp, iat } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown; iat?: unknown }
    if (typeof exp !== 'number' || typeof iat !== 'number' || exp <= iat) return null
    return (iat + RENEWED_AFTER * (exp - iat)) * 1_000
  } catch {
    return null
  }
}
