/**
 * @module master/auth/token-settings
 * Parses the token settings. A pure function: faults are returned as sentences, all of them together. A sentence never
 * contains a token (D21): it names the setting, and an entry of a list by its number.
 *
 *   SVC_ADMIN_TOKEN, SVC_WORKER_TOKEN, SVC_SCALER_TOKEN   one token
 *   SVC_WORKER_TOKENS                   tokens separated by commas, or a JSON list
 *   SVC_TOKEN_SCOPES                    JSON object: token → list of automation types, or "*" for every type
 *   SVC_TOKENS                          JSON list of named tokens with permissions (named-tokens.ts)
 *   SVC_JWT_ISSUERS                     JSON list of issuers of JWTs (jwt/issuer-settings.ts)
 *
 * Each may be read from a file instead, which the same setting with the suffix _FILE names (D22).
 */
import { TYPE_PATTERN } from '../../protocol/index.ts'
import type { Random } from '../../runtime/index.ts'
import { issuersOf, type IssuerSettings } from './jwt/index.ts'
import { namedTokensOf, sha256Of, type NamedToken } from './named-tokens.ts'
import { shortness, tokenFaults } from './token-text.ts'

export interface TokenSettings {
  /** null if not set. */
  readonly admin: string | null
  readonly worker: string | null
  /** The token of autoscalers (D140); none if left out. */
  readonly scaler?: string
  /** Accepted in addition to `worker`, for rotation. */
  readonly workerPeers: readonly string[]
  /** Token → automation types, or '*' for every type. */
  readonly scopes: ReadonlyMap<string, readonly string[]>
  /** The tokens of SVC_TOKENS; none if left out. */
  readonly named?: readonly NamedToken[]
  /** The issuers whose JWTs are accepted; none if left out. */
  readonly issuers?: readonly IssuerSettings[]
}

/** One fault of the token settings. */
interface TokenFault {
  /** The setting to correct. */
  readonly name: TokenVariable
  /** A sentence that names the setting and contains no token. */
  readonly problem: string
}

export type TokenReading =
  | { readonly kind: 'valid'; readonly tokens: TokenSettings }
  | { readonly kind: 'invalid'; readonly faults: readonly TokenFault[] }
type Environment = Readonly<Record<string, string | undefined>>

export const TOKEN_VARIABLES = [
  'SVC_ADMIN_TOKEN',
  'SVC_WORKER_TOKEN',
  'SVC_WORKER_TOKENS',
  'SVC_SCALER_TOKEN',
  'SVC_TOKEN_SCOPES',
  'SVC_TOKENS',
  'SVC_JWT_ISSUERS',
] as const
type TokenVariable = (typeof TOKEN_VARIABLES)[number]

const TYPE = new RegExp(TYPE_PATTERN)

export interface TokenRules {
  /** Whether tokens of fewer than 16 characters are accepted. */
  readonly allowShort: boolean
}
const STRICT: TokenRules = { allowShort: false }

/** Parses the settings of `environment`. {@link readTokens} also reads their _FILE forms. */
export function parseTokens(environment: Environment, { allowShort }: TokenRules = STRICT): TokenReading {
  const faults: TokenFault[] = []
  const read = <T>(
    name: TokenVariable,
    parse: (value: string | undefined, problems: string[], short: boolean) => T,
  ): T => {
    const problems: string[] = []
    const value = parse(environment[name], problems, allowShort)
    faults.push(...problems.map((problem) => ({ name, problem })))
    return value
  }
  const scaler = read('SVC_SCALER_TOKEN', (...rest) => single('SVC_SCALER_TOKEN', ...rest))
  const tokens: TokenSettings = {
    admin: read('SVC_ADMIN_TOKEN', (...rest) => single('SVC_ADMIN_TOKEN', ...rest)),
    worker: read('SVC_WORKER_TOKEN', (...rest) => single('SVC_WORKER_TOKEN', ...rest)),
    workerPeers: read('SVC_WORKER_TOKENS', peersOf),
    scopes: read('SVC_TOKEN_SCOPES', scopesOf),
    named: read('SVC_TOKENS', namedTokensOf),
    ...(environment['SVC_JWT_ISSUERS'] !== undefined && { issuers: read('SVC_JWT_ISSUERS', issuersOf) }),
    ...(scaler !== null && { scaler }),
  }
  faults.push(...sharedTokens(tokens))
  return faults.length === 0 ? { kind: 'valid', tokens } : { kind: 'invalid', faults }
}

/**
 * Like {@link parseTokens}, and reads the _FILE forms through `readText`. Trailing line breaks of a file are removed.
 */
export async function readTokens(
  environment: Environment,
  readText: (path: string) => Promise<string>,
  rules: TokenRules = STRICT,
): Promise<TokenReading> {
  const faults: TokenFault[] = []
  const values: Record<string, string | undefined> = {}
  for (const name of TOKEN_VARIABLES) {
    const file = environment[`${name}_FILE`] ?? ''
    values[name] = environment[name]
    if (file === '') continue
    if (values[name] !== undefined)
      faults.push({ name, problem: `${name} and ${name}_FILE are both set; leave one of them out` })
    values[name] = await readText(file).then(
      (text) => text.replace(/[\r\n]+$/, ''),
      () => {
        faults.push({ name, problem: `${name}_FILE cannot be read` })
        return undefined
      },
    )
  }
  const reading = parseTokens(values, rules)
  if (faults.length === 0) return reading
  return { kind: 'invalid', faults: reading.kind === 'invalid' ? [...faults, ...reading.faults] : faults }
}

/** Warnings for the log at start: tokens that work but should not be used. */
export function tokenWarnings(tokens: TokenSettings): readonly string[] {
  return named(tokens)
    .flatMap(({ where, token }) => [
      shortness(token, where),
      encodeURIComponent(token) === token
        ? undefined
        : `${where} needs URL-encoding and does not work as ?token= of the control channel`,
    ])
    .filter((warning) => warning !== undefined)
}

/** Generates a random token for a setting that was left out: 32 bytes, base64url. */
export function generateToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url')
}

function single(name: TokenVariable, value: string | undefined, faults: string[], allowShort: boolean): string | null {
  if (value === undefined) return null
  faults.push(...tokenFaults(value, name, allowShort))
  return value
}

function peersOf(value: string | undefined, faults: string[], allowShort: boolean): readonly string[] {
  if (value === undefined || value.trim() === '') return []
  const peers: unknown = value.trimStart().startsWith('[') ? parsed(value) : value.split(',').map((each) => each.trim())
  if (!Array.isArray(peers) || !peers.every((each) => typeof each === 'string')) {
    faults.push('SVC_WORKER_TOKENS is not a list of tokens; separate them by commas or give a JSON list of strings')
    return []
  }
  faults.push(
    ...peers.flatMap((each, index) => tokenFaults(each, `entry ${index + 1} of SVC_WORKER_TOKENS`, allowShort)),
  )
  return peers
}

function scopesOf(
  value: string | undefined,
  faults: string[],
  allowShort: boolean,
): ReadonlyMap<string, readonly string[]> {
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
    faults.push(...tokenFaults(token, where, allowShort))
    if (
      !Array.isArray(types) ||
      !types.every((type) => typeof type === 'string' && (type === '*' || TYPE.test(type)))
    ) {
      faults.push(`${where} does not list automation types; for example ["mailer"], or ["*"] for every type`)
    }
  })
  return new Map(entries as [string, string[]][])
}

/** Finds tokens with two roles: the holder of the weaker role would have the stronger one as well. */
function sharedTokens(tokens: TokenSettings): readonly TokenFault[] {
  const firstUse = new Map<string, { role: string; where: string }>()
  const faults: TokenFault[] = []
  for (const { name, role, where, token } of named(tokens)) {
    if (token === '') continue // Reported as a separate fault.
    const first = firstUse.get(token)
    if (first === undefined) firstUse.set(token, { role, where })
    else if (first.role !== role)
      faults.push({ name, problem: `${where} and ${first.where} are the same token; each role needs its own` })
  }
  return [...faults, ...sharedDigests(tokens)]
}

/** Finds tokens of SVC_TOKENS that are used twice. They are compared by digest, because an entry may have only that. */
function sharedDigests(tokens: TokenSettings): readonly TokenFault[] {
  const firstUse = new Map(named(tokens).map(({ where, token }) => [sha256Of(token), where]))
  return (tokens.named ?? []).flatMap(({ sha256 }) => {
    const where = 'an entry of SVC_TOKENS' // Without its name, because `/readyz` needs no token and lists the faults.
    const first = firstUse.get(sha256)
    firstUse.set(sha256, where)
    return first === undefined
      ? []
      : [{ name: 'SVC_TOKENS', problem: `${where} and ${first} are the same token; each needs its own` }]
  })
}

function named({
  admin,
  worker,
  scaler,
  workerPeers,
  scopes,
}: TokenSettings): readonly { name: TokenVariable; role: string; where: string; token: string }[] {
  return [
    ...(admin === null
      ? []
      : [{ name: 'SVC_ADMIN_TOKEN' as const, role: 'admin', where: 'SVC_ADMIN_TOKEN', token: admin }]),
    ...(worker === null
      ? []
      : [{ name: 'SVC_WORKER_TOKEN' as const, role: 'worker', where: 'SVC_WORKER_TOKEN', token: worker }]),
    ...(scaler === undefined
      ? []
      : [{ name: 'SVC_SCALER_TOKEN' as const, role: 'scaler', where: 'SVC_SCALER_TOKEN', token: scaler }]),
    ...workerPeers.map((token, index) => ({
      name: 'SVC_WORKER_TOKENS' as const,
      role: 'worker',
      where: `entry ${index + 1} of SVC_WORKER_TOKENS`,
      token,
    })),
    ...[...scopes.keys()].map((token, index) => ({
      name: 'SVC_TOKEN_SCOPES' as const,
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
