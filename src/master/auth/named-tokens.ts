/**
 * @module master/auth/named-tokens
 * Reads SVC_TOKENS: a JSON list of tokens, each with a name, the automation types it covers and its permissions.
 *
 *   [{"name": "oncall", "role": "responder", "types": ["*"], "sha256": "9f86d0…"},
 *    {"name": "indexer", "permissions": ["consume"], "types": ["crawler"], "token": "…"},
 *    {"name": "team-a", "role": "editor", "types": ["crawler"], "workers": ["team-a-*"], "expires": "2027-01-31",
 *     "submit_rps": 50, "sha256": "…"}]
 *
 * `sha256` is the SHA-256 of the token in hex, so that the setting need not contain the token itself. An unknown key is
 * a fault, because ignoring a restriction of a later release would grant too much. Faults never contain a value of the
 * setting.
 * @see D86, D227, D228
 */
import { createHash } from 'node:crypto'
import { ROLE_PERMISSIONS, SCOPED_PERMISSIONS, SCOPED_ROLES, type Permission } from '../../protocol/index.ts'
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
} from './setting-entries.ts'
import { tokenFaults } from './token-text.ts'

export interface NamedToken {
  readonly name: string
  /** Automation types, or `*` for every type. */
  readonly types: readonly string[]
  readonly permissions: readonly Permission[]
  /** SHA-256 of the token, 64 lower-case hex digits. */
  readonly sha256: string
  /** Worker ids; a `*` at the end matches the rest of an id. Left out: every worker. */
  readonly workers?: readonly string[]
  /** When the token expires; never if left out. */
  readonly expiresAtMs?: number
  /** Tasks per second; unlimited if left out. */
  readonly submitRps?: number
}

const SETTING = 'SVC_TOKENS'
const KEYS = ['name', 'role', 'permissions', 'types', 'workers', 'token', 'sha256', 'expires', 'submit_rps']
const ROLES = [...SCOPED_ROLES, 'worker'] as const
const MAX_SUBMIT_RPS = 1_000_000
const SHA256 = /^[0-9a-fA-F]{64}$/

/** @returns the valid entries. The faults of the other entries are appended to `faults`. */
export function namedTokensOf(text: string | undefined, faults: string[], allowShort: boolean): readonly NamedToken[] {
  if (text === undefined || text.trim() === '') return []
  const entries = jsonOf(text)
  if (!Array.isArray(entries)) {
    faults.push(
      `${SETTING} is not a JSON list of tokens; for example ` +
        '[{"name": "ci", "role": "producer", "types": ["mailer"], "sha256": "<64 hex digits>"}]',
    )
    return []
  }
  const read = entries.map((entry: unknown, index) => ({ entry, where: `entry ${index + 1} of ${SETTING}` }))
  const own = read.map(({ entry, where }) =>
    isEntry(entry) ? tokenSpecFaults(entry, where, allowShort) : [`${where} is not a JSON object`],
  )
  faults.push(...own.flat())
  const good = read.filter((_, index) => own[index]?.length === 0).map(({ entry }) => toToken(entry as Entry))
  faults.push(...repeatedNames(good))
  return good
}

/** The digest by which an entry of SVC_TOKENS and the authenticator compare tokens. */
export const sha256Of = (bearerToken: string): string => createHash('sha256').update(bearerToken).digest('hex')

function tokenSpecFaults(entry: Entry, where: string, allowShort: boolean): readonly string[] {
  const unknown = unknownKey(entry, KEYS, where)
  return [
    ...(unknown === null ? [] : [unknown]),
    ...(isName(entry['name'])
      ? []
      : [`${where} needs "name": 1 to 63 lower-case letters, digits, ".", "_" and "-", first a letter or a digit`]),
    ...grantFaults(entry, where),
    ...typesFaults(entry, where),
    ...workersFaults(entry, where),
    ...expiryFaults(entry, where),
    ...rateFaults(entry, where),
    ...secretFaults(entry, where, allowShort),
  ]
}

function grantFaults({ role, permissions }: Entry, where: string): readonly string[] {
  if ((role === undefined) === (permissions === undefined)) return [`${where} needs either "role" or "permissions"`]
  if (role !== undefined)
    return ROLES.some((known) => known === role) ? [] : [`${where} has an unknown role; known: ${ROLES.join(', ')}`]
  return isListOf(isPermission)(permissions)
    ? []
    : [`${where} does not list permissions; known: ${SCOPED_PERMISSIONS.join(', ')}`]
}

function typesFaults({ types }: Entry, where: string): readonly string[] {
  return isListOf(isType)(types)
    ? []
    : [`${where} does not list automation types; for example "types": ["mailer"], or ["*"] for every type`]
}

function workersFaults({ workers }: Entry, where: string): readonly string[] {
  if (workers === undefined || isListOf(isWorkerPattern)(workers)) return []
  return [
    `"workers" in ${where} is not a list of worker ids, in which only the last character may be "*"; ` +
      'for example ["team-a-*"]; leave it out to cover every worker',
  ]
}

function expiryFaults({ expires }: Entry, where: string): readonly string[] {
  if (expires === undefined || expiryOf(expires) !== null) return []
  return [
    `"expires" in ${where} is not a date or a date-time with a time zone; ` +
      'for example "2027-01-31", which ends with that day in UTC, or "2027-01-31T18:00:00Z"',
  ]
}

function rateFaults({ submit_rps: rate }: Entry, where: string): readonly string[] {
  if (rate === undefined || (typeof rate === 'number' && rate > 0 && rate <= MAX_SUBMIT_RPS)) return []
  return [
    `"submit_rps" in ${where} is not a number above 0 and up to ${MAX_SUBMIT_RPS}; ` +
      'leave it out if the token may submit without a limit of its own',
  ]
}

const DATE = /^(?<day>\d{4}-\d{2}-\d{2})(?<time>T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
const DAY_MS = 86_400_000

/** The moment at which a token expires: for a date the end of that day in UTC. @returns null for other values. */
function expiryOf(value: unknown): number | null {
  const { day, time } = (typeof value === 'string' ? DATE.exec(value)?.groups : undefined) ?? {}
  if (day === undefined) return null
  const startMs = Date.parse(`${day}T00:00:00Z`)
  // A day that the month does not have would be one of the next month.
  if (Number.isNaN(startMs) || new Date(startMs).toISOString().slice(0, day.length) !== day) return null
  const atMs = time === undefined ? startMs + DAY_MS : Date.parse(`${day}${time}`)
  return Number.isNaN(atMs) ? null : atMs
}

function secretFaults({ token, sha256 }: Entry, where: string, allowShort: boolean): readonly string[] {
  if ((token === undefined) === (sha256 === undefined)) return [`${where} needs either "token" or "sha256"`]
  if (token !== undefined)
    return typeof token === 'string'
      ? tokenFaults(token, `the token in ${where}`, allowShort)
      : [`the token in ${where} is not a string`]
  return typeof sha256 === 'string' && SHA256.test(sha256)
    ? []
    : [`the sha256 in ${where} is not 64 hex digits in a string`]
}

/** @param entry An entry without faults. */
function toToken(entry: Entry): NamedToken {
  const {
    name,
    role,
    permissions,
    types,
    token,
    sha256,
    workers,
    expires,
    submit_rps: rate,
  } = entry as {
    name: string
    role?: (typeof ROLES)[number]
    permissions?: Permission[]
    types: string[]
    token?: string
    sha256?: string
    workers?: string[]
    expires?: string
    submit_rps?: number
  }
  return {
    name,
    types,
    permissions: role === undefined ? (permissions ?? []) : ROLE_PERMISSIONS[role],
    sha256: token === undefined ? (sha256 ?? '').toLowerCase() : sha256Of(token),
    ...(workers !== undefined && { workers }),
    ...(expires !== undefined && { expiresAtMs: expiryOf(expires) ?? 0 }),
    ...(rate !== undefined && { submitRps: rate }),
  }
}

function repeatedNames(tokens: readonly NamedToken[]): readonly string[] {
  const names = tokens.map(({ name }) => name)
  return names.some((name, index) => names.indexOf(name) !== index)
    ? [`two entries of ${SETTING} have the same name; each token needs its own`]
    : []
}
