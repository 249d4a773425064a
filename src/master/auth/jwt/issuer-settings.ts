/**
 * @module master/auth/jwt/issuer-settings
 * Reads SVC_JWT_ISSUERS: a JSON list of issuers whose JWTs are accepted as bearer tokens. A pure function: faults are
 * sentences that name the entry by its number, the field and what to write instead. They contain no value.
 *
 *   [{"name": "corp", "issuer": "https://idp.example", "audience": "muster", "actor_claim": "/email",
 *     "rules": [{"when": {"/groups": "sre"}, "role": "responder"}]}]
 *
 * An unknown key is a fault, because ignoring a condition of a later release would grant too much.
 * @see D230
 */
import { isFieldPointer, ROLE_PERMISSIONS, SCOPED_PERMISSIONS } from '../../../protocol/index.ts'
import {
  isEntry,
  isListOf,
  isName,
  isPermission,
  isType,
  isWorkerPattern,
  jsonOf,
  unknownKey,
  type Entry,
} from '../setting-entries.ts'

type Role = keyof typeof ROLE_PERMISSIONS
/** What a claim must be: a string that is equal or ends in `*`, or an equal number or boolean. */
export type Expected = string | number | boolean

export interface IssuerRule {
  /** JSON pointers of claims. All of them must match; without any, every token of the issuer does. */
  readonly when: readonly (readonly [pointer: string, expected: Expected])[]
  readonly permissions: readonly string[]
  readonly types: readonly string[]
  readonly workers: readonly string[]
  /** The JSON pointer of the claim that is the id of the only worker. */
  readonly workerClaim: string | null
}

/** Where the public keys come from. */
type KeySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  /** The document at /.well-known/openid-configuration of the issuer. */
  | { readonly kind: 'discovery' }

export interface IssuerSettings {
  readonly name: string
  readonly issuer: string
  readonly audience: string
  readonly algorithms: readonly string[]
  readonly keys: KeySource
  readonly actorClaim: string
  readonly leewaySeconds: number
  readonly rules: readonly IssuerRule[]
}

/** Algorithms with a public key. With a shared secret, who can check a token could also make one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const
const DEFAULT_ALGORITHMS = ['RS256', 'ES256']
const DEFAULT_LEEWAY_SECONDS = 30
const MAX_LEEWAY_SECONDS = 300
const MAX_ISSUERS = 20
const MAX_RULES = 200

const SETTING = 'SVC_JWT_ISSUERS'
const KEYS = [
  'name',
  'issuer',
  'audience',
  'algorithms',
  'jwks_url',
  'jwks_file',
  'actor_claim',
  'leeway_seconds',
  'rules',
]
const RULE_KEYS = ['when', 'role', 'permissions', 'types', 'workers', 'worker_claim']

type Fault = string | null

/** @returns the issuers; empty if there are faults, which are appended to `faults`. */
export function issuersOf(text: string | undefined, faults: string[]): readonly IssuerSettings[] {
  if (text === undefined || text.trim() === '') return []
  const entries = jsonOf(text)
  if (!Array.isArray(entries) || entries.length > MAX_ISSUERS) {
    faults.push(`${SETTING} is not a JSON list of at most ${MAX_ISSUERS} issuers; see "Tokens of an identity provider"`)
    return []
  }
  const own = entries.flatMap((entry: unknown, at) => issuerFaults(entry, `entry ${at + 1} of ${SETTING}`))
  if (own.length === 0) own.push(...repeated(entries as Entry[]))
  faults.push(...own)
  return own.length > 0 ? [] : (entries as Entry[]).map(toIssuer)
}

function issuerFaults(entry: unknown, where: string): readonly string[] {
  if (!isEntry(entry)) return [`${where} is not a JSON object`]
  const { name, issuer, audience, algorithms, actor_claim: actor, leeway_seconds: leeway } = entry
  return [
    unknownKey(entry, KEYS, where),
    unless(isName(name), `"name" in ${where} must be 1 to 63 lower-case letters, digits, ".", "_" and "-"`),
    unless(isAllowedUrl(issuer), `"issuer" in ${where} must be an https:// URL, exactly as in the claim "iss"`),
    unless(isText(audience), `"audience" in ${where} must be the text that the claim "aud" contains, such as "muster"`),
    unless(
      isAbsentOr(algorithms, isListOf(isAlgorithm)),
      `"algorithms" in ${where} must list some of ${ALGORITHMS.join(', ')}`,
    ),
    keysFault(entry, where),
    unless(isAbsentOr(actor, isPointer), `"actor_claim" in ${where} must be a JSON pointer, such as "/email"`),
    unless(
      isAbsentOr(leeway, isLeeway),
      `"leeway_seconds" in ${where} must be a number from 0 to ${MAX_LEEWAY_SECONDS}`,
    ),
    ...rulesFaults(entry, where),
  ].filter((fault) => fault !== null)
}

function rulesFaults({ rules }: Entry, where: string): readonly Fault[] {
  return Array.isArray(rules) && rules.length > 0 && rules.length <= MAX_RULES
    ? rules.flatMap((rule: unknown, at) => ruleFaults(rule, `rule ${at + 1} in ${where}`))
    : [`"rules" in ${where} must be a list of 1 to ${MAX_RULES} rules, which say what tokens may do`]
}

function keysFault({ jwks_url: url, jwks_file: file }: Entry, where: string): Fault {
  const hasUrl = url !== undefined && url !== null
  const hasFile = file !== undefined && file !== null
  if (hasUrl && hasFile) return `${where} has both "jwks_url" and "jwks_file"; leave one of them out`
  if (hasUrl && !isAllowedUrl(url)) return `"jwks_url" in ${where} must be an https:// URL`
  return !hasFile || isText(file) ? null : `"jwks_file" in ${where} must be the path of a file`
}

function ruleFaults(rule: unknown, where: string): readonly Fault[] {
  if (!isEntry(rule)) return [`${where} is not a JSON object`]
  const { when, role, permissions } = rule
  return [
    unknownKey(rule, RULE_KEYS, where),
    unless(
      isConditions(when),
      `"when" in ${where} must map JSON pointers of claims to texts, numbers or booleans; a "*" may only end a text`,
    ),
    unless((role === undefined) !== (permissions === undefined), `${where} needs either "role" or "permissions"`),
    unless(isAbsentOr(role, isRole), `"role" in ${where} must be one of ${Object.keys(ROLE_PERMISSIONS).join(', ')}`),
    unless(
      isAbsentOr(permissions, isListOf(isPermission)),
      `"permissions" in ${where} must list some of ${SCOPED_PERMISSIONS.join(', ')}`,
    ),
    ...reachFaults(rule, where),
  ]
}

/** The faults of the types and workers of a rule. */
function reachFaults({ role, types, workers, worker_claim: workerClaim }: Entry, where: string): readonly Fault[] {
  if (role === 'admin')
    return [
      unless(
        [types, workers, workerClaim].every((each) => each === undefined),
        `${where} limits the role admin, which covers everything; use "editor" with "types" instead`,
      ),
    ]
  return [
    unless(
      isListOf(isType)(types),
      `"types" in ${where} must list automation types; for example ["mailer"], or ["*"] for every type`,
    ),
    unless(
      isAbsentOr(workers, isListOf(isWorkerPattern)),
      `"workers" in ${where} must list worker ids, in which only the last character may be "*"`,
    ),
    unless(
      workerClaim === undefined || (isPointer(workerClaim) && workers === undefined),
      `"worker_claim" in ${where} must be a JSON pointer, such as "/sub", and excludes "workers"`,
    ),
  ]
}

function repeated(entries: readonly Entry[]): readonly string[] {
  return ['name', 'issuer']
    .filter((key) => new Set(entries.map((entry) => entry[key])).size < entries.length)
    .map((key) => `two entries of ${SETTING} have the same "${key}"; put the rules of one issuer into one entry`)
}

/** @param entry An entry without faults. */
function toIssuer(entry: Entry): IssuerSettings {
  const spec = entry as {
    name: string
    issuer: string
    audience: string
    algorithms?: string[]
    jwks_url?: string | null
    jwks_file?: string | null
    actor_claim?: string
    leeway_seconds?: number
    rules: Entry[]
  }
  return {
    name: spec.name,
    issuer: spec.issuer,
    audience: spec.audience,
    algorithms: spec.algorithms ?? DEFAULT_ALGORITHMS,
    keys: keySourceOf(spec.jwks_url ?? null, spec.jwks_file ?? null),
    actorClaim: spec.actor_claim ?? '/sub',
    leewaySeconds: spec.leeway_seconds ?? DEFAULT_LEEWAY_SECONDS,
    rules: spec.rules.map(toRule),
  }
}

function keySourceOf(url: string | null, path: string | null): KeySource {
  if (path !== null) return { kind: 'file', path }
  return url === null ? { kind: 'discovery' } : { kind: 'url', url }
}

function toRule(entry: Entry): IssuerRule {
  const rule = entry as {
    when: Record<string, Expected>
    role?: Role
    permissions?: string[]
    types?: string[]
    workers?: string[]
    worker_claim?: string
  }
  return {
    when: Object.entries(rule.when),
    permissions: rule.role === undefined ? (rule.permissions ?? []) : ROLE_PERMISSIONS[rule.role],
    types: rule.types ?? ['*'],
    workers: rule.workers ?? ['*'],
    workerClaim: rule.worker_claim ?? null,
  }
}

/** Whether a master may read from a URL: over HTTPS, or on the loopback interface. */
export function isAllowedUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  if (username !== '' || password !== '') return false
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback)
}

const isExpected = (value: unknown): value is Expected =>
  typeof value === 'boolean' ||
  Number.isFinite(value) ||
  (typeof value === 'string' && value !== '' && !value.slice(0, -1).includes('*'))
const isPointer = (value: unknown): value is string => typeof value === 'string' && isFieldPointer(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const isAbsentOr = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value)
const isAlgorithm = (value: unknown): boolean => ALGORITHMS.some((known) => known === value)
const isRole = (value: unknown): boolean => typeof value === 'string' && Object.hasOwn(ROLE_PERMISSIONS, value)
const isLeeway = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= MAX_LEEWAY_SECONDS
const isConditions = (value: unknown): boolean =>
  isEntry(value) && Object.entries(value).every(([key, expected]) => isPointer(key) && isExpected(expected))
const unless = (isRight: boolean, fault: string): Fault => (isRight ? null : fault)
