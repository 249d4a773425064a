/**
 * @module master/auth/jwt/jwt-text
 * Reads header and claims of a JWT without checking its signature, and refuses tokens that need no signature check: too
 * long, with a header that names or embeds a key, or with a name that appears twice, of which two readers could take
 * different ones.
 */
import type { JsonObject } from '../../../protocol/index.ts'

/** Longer tokens are refused before they are decoded. */
const MAX_JWT_CHARS = 8_192

interface JwtHeader {
  readonly alg: string
  readonly kid: string | null
}

export type JwtReading =
  /** The text has not the form of a JWT. */
  | { readonly kind: 'other' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'jwt'; readonly header: JwtHeader; readonly claims: JsonObject }

const PART = /^[\w-]+$/
/** Headers by which a token brings its own key, or extends the format. */
const FOREIGN_HEADERS = ['jku', 'jwk', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'crit', 'b64', 'zip', 'enc']
/** Types of a header that a bearer token may have. Others are made for another purpose. */
const TYPES = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'])
/** Claims that are nested more deeply count as repeated, so that they are refused. */
const MAX_DEPTH = 16

export function readJwt(token: string): JwtReading {
  const parts = token.split('.')
  if (parts.length !== 3) return { kind: 'other' }
  if (token.length > MAX_JWT_CHARS) return refused(`is longer than ${MAX_JWT_CHARS} characters`)
  const [headerPart = '', claimsPart = '', signature = ''] = parts
  if (!PART.test(headerPart)) return { kind: 'other' }
  const header = objectOf(headerPart)
  if (header === 'not_json') return { kind: 'other' }
  const claims = PART.test(claimsPart) ? objectOf(claimsPart) : 'not_json'
  if (header === 'repeated' || claims === 'repeated') return refused('contains a name twice')
  if (claims === 'not_json') return refused('has no claims')
  if (!PART.test(signature)) return refused('has no signature')
  return fromHeader(header, claims)
}

/** The claims of a token that was verified; empty for another text. */
export function claimsOf(token: string): JsonObject {
  const reading = readJwt(token)
  return reading.kind === 'jwt' ? reading.claims : {}
}

function fromHeader(header: JsonObject, claims: JsonObject): JwtReading {
  const { alg, kid = null, typ = 'JWT' } = header
  if (typeof alg !== 'string' || (kid !== null && typeof kid !== 'string')) return refused('has a wrong header')
  if (FOREIGN_HEADERS.some((name) => Object.hasOwn(header, name))) return refused('has a header that is not allowed')
  if (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase())) return refused('is made for another purpose')
  return { kind: 'jwt', header: { alg, kid }, claims }
}

const refused = (why: string): JwtReading => ({ kind: 'refused', why })

function objectOf(part: string): JsonObject | 'not_json' | 'repeated' {
  const bytes = Buffer.from(part, 'base64url')
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_json'
    return hasRepeatedName(text) ? 'repeated' : (value as JsonObject)
  } catch {
    return 'not_json'
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/** @param text Valid JSON. */
function hasRepeatedName(text: string): boolean {
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  let last = ''
  for (const [token] of text.matchAll(TOKENS)) {
    const names = open.at(-1)
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':' && names instanceof Set) {
      const name = JSON.parse(last) as string
      if (names.has(name)) return true
      names.add(name)
    }
    if (open.length > MAX_DEPTH) return true
    last = token
  }
  return false
}
