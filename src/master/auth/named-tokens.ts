/**
 * @module master/auth/named-tokens
 * Reads SVC_TOKENS: a JSON list of tokens, each with a name, the automation types it covers and its permissions.
 *
 *   [{"name": "oncall", "role": "responder", "types": ["*"], "sha256": "9f86d0…"},
 *    {"name": "indexer", "permissions": ["consume"], "types": ["crawler"], "token": "…"}]
 *
 * `sha256` is the SHA-256 of the token in hex, so that the setting need not contain the token itself. An unknown key is
 * a fault, because ignoring a restriction of a later release would grant too much. Faults never contain a value of the
 * setting.
 * @see D86
 */
import { createHash } from 'node:crypto'
import {
  ROLE_PERMISSIONS,
  SCOPED_PERMISSIONS,
  SCOPED_ROLES,
  TYPE_PATTERN,
  type Permission,
} from '../../protocol/index.ts'
import { tokenFaults } from './token-text.ts'

export interface NamedToken {
  readonly name: string
  /** Automation types, or `*` for every type. */
  readonly types: readonly string[]
  readonly permissions: readonly Permission[]
  /** SHA-256 of the token, 64 lower-case hex digits. */
  readonly sha256: string
}

const SETTING = 'SVC_TOKENS'
const KEYS = ['name', 'role', 'permissions', 'types', 'token', 'sha256']
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/
const SHA256 = /^[0-9a-fA-F]{64}$/
const TYPE = new RegExp(TYPE_PATTERN)

type TokenSpec = Readonly<Record<string, unknown>>

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
    isObject(entry) ? tokenSpecFaults(entry, where, allowShort) : [`${where} is not a JSON object`],
  )
  faults.push(...own.flat())
  const good = read.filter((_, index) => own[index]?.length === 0).map(({ entry }) => toToken(entry as TokenSpec))
  faults.push(...repeatedNames(good))
  return good
}

/** The digest by which an entry of SVC_TOKENS and the authenticator compare tokens. */
export const sha256Of = (bearerToken: string): string => createHash('sha256').update(bearerToken).digest('hex')

function tokenSpecFaults(entry: TokenSpec, where: string, allowShort: boolean): readonly string[] {
  const unknown = Object.keys(entry).filter((key) => !KEYS.includes(key))
  return [
    ...(unknown.length > 0 ? [`${where} has an unknown key; known: ${KEYS.join(', ')}`] : []),
    ...(typeof entry['name'] === 'string' && NAME.test(entry['name'])
      ? []
      : [`${where} needs "name": 1 to 63 lower-case letters, digits, ".", "_" and "-", first a letter or a digit`]),
    ...grantFaults(entry, where),
    ...typesFaults(entry, where),
    ...secretFaults(entry, where, allowShort),
  ]
}

function grantFaults({ role, permissions }: TokenSpec, where: string): readonly string[] {
  if ((role === undefined) === (permissions === undefined)) return [`${where} needs either "role" or "permissions"`]
  if (role !== undefined)
    return SCOPED_ROLES.some((known) => known === role)
      ? []
      : [`${where} has an unknown role; known: ${SCOPED_ROLES.join(', ')}`]
  const isList =
    Array.isArray(permissions) &&
    permissions.length > 0 &&
    permissions.every((each) => SCOPED_PERMISSIONS.some((known) => known === each))
  return isList ? [] : [`${where} does not list permissions; known: ${SCOPED_PERMISSIONS.join(', ')}`]
}

function typesFaults({ types }: TokenSpec, where: string): readonly string[] {
  const isList =
    Array.isArray(types) &&
    types.length > 0 &&
    types.every((type) => typeof type === 'string' && (type === '*' || TYPE.test(type)))
  return isList
    ? []
    : [`${where} does not list automation types; for example "types": ["mailer"], or ["*"] for every type`]
}

function secretFaults({ token, sha256 }: TokenSpec, where: string, allowShort: boolean): readonly string[] {
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
function toToken(entry: TokenSpec): NamedToken {
  const { name, role, permissions, types, token, sha256 } = entry as {
    name: string
    role?: (typeof SCOPED_ROLES)[number]
    permissions?: Permission[]
    types: string[]
    token?: string
    sha256?: string
  }
  return {
    name,
    types,
    permissions: role === undefined ? (permissions ?? []) : ROLE_PERMISSIONS[role],
    sha256: token === undefined ? (sha256 ?? '').toLowerCase() : sha256Of(token),
  }
}

function repeatedNames(tokens: readonly NamedToken[]): readonly string[] {
  const names = tokens.map(({ name }) => name)
  return names.some((name, index) => names.indexOf(name) !== index)
    ? [`two entries of ${SETTING} have the same name; each token needs its own`]
    : []
}

const isObject = (value: unknown): value is TokenSpec =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The parser's message quotes the text, and with it tokens.
  }
}
