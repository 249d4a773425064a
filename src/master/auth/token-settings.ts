/**
 * @module master/auth/token-settings
 * From the settings to the tokens the master accepts. Pure: what is wrong comes back as sentences, all of them
 * together, and no sentence ever holds a token (D21). A setting is named, an entry of a list by its number.
 *
 *   SVC_ADMIN_TOKEN, SVC_WORKER_TOKEN   one token
 *   SVC_WORKER_TOKENS                   tokens separated by commas, or a JSON list
 *   SVC_TOKEN_SCOPES                    JSON object: token → list of automation types, or "*" for every type
 *
 * Each may come from a file instead, named by the same setting with _FILE behind it (D22).
 */
import { TYPE_PATTERN } from '../../protocol/index.ts'
import type { Random } from '../../runtime/index.ts'

export interface TokenSettings {
  /** null: not set. */
  readonly admin: string | null
  readonly worker: string | null
  /** Accepted beside `worker`, for rotation. */
  readonly workerPeers: readonly string[]
  /** Token → automation types, or '*'. */
  readonly scopes: ReadonlyMap<string, readonly string[]>
}

export type TokenReading = { readonly tokens: TokenSettings } | { readonly faults: readonly string[] }
type Environment = Readonly<Record<string, string | undefined>>

export const TOKEN_VARIABLES = ['SVC_ADMIN_TOKEN', 'SVC_WORKER_TOKEN', 'SVC_WORKER_TOKENS', 'SVC_TOKEN_SCOPES'] as const

/** What a header can carry: visible ASCII without spaces. */
const TOKEN = /^[\x21-\x7e]+$/
/** Longer than any header may be: nobody could ever present it. */
const MAX_TOKEN_CHARS = 4_096
const WEAK_BELOW_CHARS = 16
const TYPE = new RegExp(TYPE_PATTERN)

/** Reads the four settings out of `environment`; their _FILE forms are {@link readTokens}. */
export function parseTokens(environment: Environment): TokenReading {
  const faults: string[] = []
  const tokens: TokenSettings = {
    admin: single('SVC_ADMIN_TOKEN', environment, faults),
    worker: single('SVC_WORKER_TOKEN', environment, faults),
    workerPeers: peersOf(environment['SVC_WORKER_TOKENS'], faults),
    scopes: scopesOf(environment['SVC_TOKEN_SCOPES'], faults),
  }
  faults.push(...sharedTokens(tokens))
  return faults.length === 0 ? { tokens } : { faults }
}

/** As {@link parseTokens}, with the _FILE forms read through `readText`. A trailing line break of a file is no part of it. */
export async function readTokens(
  environment: Environment,
  readText: (path: string) => Promise<string>,
): Promise<TokenReading> {
  const faults: string[] = []
  const values: Record<string, string | undefined> = {}
  for (const name of TOKEN_VARIABLES) {
    const file = environment[`${name}_FILE`] ?? ''
    values[name] = environment[name]
    if (file === '') continue
    if (values[name] !== undefined) faults.push(`${name} and ${name}_FILE are both set; leave one of them out`)
    values[name] = await readText(file).then(
      (text) => text.replace(/[\r\n]+$/, ''),
      () => {
        faults.push(`${name}_FILE cannot be read`)
        return undefined
      },
    )
  }
  const reading = parseTokens(values)
  if (faults.length === 0) return reading
  return { faults: 'faults' in reading ? [...faults, ...reading.faults] : faults }
}

/** What a start-up warning should say about tokens that work but should not be used. */
export function tokenWarnings(tokens: TokenSettings): readonly string[] {
  return named(tokens).flatMap(({ where, token }) => [
    ...(token.length < WEAK_BELOW_CHARS
      ? [`${where} is shorter than ${WEAK_BELOW_CHARS} characters and can be guessed`]
      : []),
    ...(encodeURIComponent(token) === token
      ? []
      : [`${where} needs URL-encoding and does not work as ?token= of the control channel`]),
  ])
}

/** A random token for a setting that was left out: 32 bytes, base64url. */
export function generateToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url')
}

function single(name: (typeof TOKEN_VARIABLES)[number], environment: Environment, faults: string[]): string | null {
  const value = environment[name]
  if (value === undefined) return null
  faults.push(...faultsOf(value, name))
  return value
}

function peersOf(value: string | undefined, faults: string[]): readonly string[] {
  if (value === undefined || value.trim() === '') return []
  const peers: unknown = value.trimStart().startsWith('[') ? parsed(value) : value.split(',').map((each) => each.trim())
  if (!Array.isArray(peers) || !peers.every((each) => typeof each === 'string')) {
    faults.push('SVC_WORKER_TOKENS is not a list of tokens; separate them by commas or give a JSON list of strings')
    return []
  }
  faults.push(...peers.flatMap((each, index) => faultsOf(each, `entry ${index + 1} of SVC_WORKER_TOKENS`)))
  return peers
}

function scopesOf(value: string | undefined, faults: string[]): ReadonlyMap<string, readonly string[]> {
  if (value === undefined || value.trim() === '') return new Map()
  const scopes = parsed(value)
  if (typeof scopes !== 'object' || scopes === null || Array.isArray(scopes)) {
    faults.push(
      'SVC_TOKEN_SCOPES is not a JSON object of token to list of automation types; for example {"<token>": ["mailer"]}',
    )
    return new Map()
  }
  const entries = Object.entries(scopes as Record<string, unknown>)
  entries.forEach(([token, types], index) => {
    const where = `entry ${index + 1} of SVC_TOKEN_SCOPES`
    faults.push(...faultsOf(token, where))
    if (
      !Array.isArray(types) ||
      !types.every((type) => typeof type === 'string' && (type === '*' || TYPE.test(type)))
    ) {
      faults.push(`${where} does not list automation types; for example ["mailer"], or ["*"] for every type`)
    }
  })
  return new Map(entries as [string, string[]][])
}

function faultsOf(token: string, where: string): readonly string[] {
  if (token === '') return [`${where} is empty`]
  if (token.length > MAX_TOKEN_CHARS) return [`${where} is longer than ${MAX_TOKEN_CHARS} characters`]
  if (!TOKEN.test(token)) return [`${where} holds a space or a character outside ASCII, which no header can carry`]
  return []
}

/** One token in two roles would make the weaker role as strong as the other. */
function sharedTokens(tokens: TokenSettings): readonly string[] {
  const firstUse = new Map<string, { role: string; where: string }>()
  const faults: string[] = []
  for (const { role, where, token } of named(tokens)) {
    if (token === '') continue // A fault of its own.
    const first = firstUse.get(token)
    if (first === undefined) firstUse.set(token, { role, where })
    else if (first.role !== role) faults.push(`${where} and ${first.where} are the same token; each role needs its own`)
  }
  return faults
}

function named({
  admin,
  worker,
  workerPeers,
  scopes,
}: TokenSettings): readonly { role: string; where: string; token: string }[] {
  return [
    ...(admin === null ? [] : [{ role: 'admin', where: 'SVC_ADMIN_TOKEN', token: admin }]),
    ...(worker === null ? [] : [{ role: 'worker', where: 'SVC_WORKER_TOKEN', token: worker }]),
    ...workerPeers.map((token, index) => ({ role: 'worker', where: `entry ${index + 1} of SVC_WORKER_TOKENS`, token })),
    ...[...scopes.keys()].map((token, index) => ({
      role: 'scoped',
      where: `entry ${index + 1} of SVC_TOKEN_SCOPES`,
      token,
    })),
  ]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The parser's own message would quote the text, and with it tokens.
  }
}
