/** @module cmd/readers  Parses the text of settings. Each reader throws an Error whose message contains an example. */
import { isIP } from 'node:net'
import { LOG_LEVELS, type LogLevel } from '../runtime/index.ts'
import { isWorkerId, parseWorkerLabels, TYPE_PATTERN, type WorkerLabels } from '../protocol/index.ts'
import type { Read } from './settings.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
}

export const text: Read<string> = (value) => value

/** Parses `host:port`. An empty host (`:8080`) means all IPv6 and IPv4 addresses of the machine. */
export const hostPort: Read<HostPort> = (value) => {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:\s]*)):(?<port>\d{1,5})$/.exec(value)
  const port = Number(match?.groups?.['port'])
  if (match === null || port > 65_535)
    throw new Error(`${JSON.stringify(value)} is not host:port; for example 0.0.0.0:8080`)
  return { host: match.groups?.['v6'] ?? match.groups?.['host'] ?? '', port }
}

export function integer(least: number, most: number): Read<number> {
  return (value) => {
    const number = Number(value)
    if (!/^-?\d+$/.test(value) || number < least || number > most)
      throw new Error(`${JSON.stringify(value)} is not a whole number from ${least} to ${most}`)
    return number
  }
}

export function atLeast(least: number): Read<number> {
  return (value) => {
    const number = Number(value)
    if (!/^\d+(\.\d+)?$/.test(value) || !Number.isFinite(number) || number < least)
      throw new Error(`${JSON.stringify(value)} is not a number of ${least} or more`)
    return number
  }
}

/** Parses unix seconds, or ISO 8601 with a time zone. */
export const time: Read<number> = (value) => {
  const isIso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value)
  const isSeconds = /^\d+(\.\d+)?$/.test(value)
  const seconds = isIso ? Date.parse(value) / 1_000 : Number(value)
  if (!(isIso || isSeconds) || !Number.isFinite(seconds))
    throw new Error(`${JSON.stringify(value)} is not a time; for example 2030-01-31T08:00:00Z, or unix seconds`)
  return seconds
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Parses a duration such as `90s`, `30m`, `2h` or `1.5d`. @returns seconds. */
export const duration: Read<number> = (value) => {
  const { number, unit = '' } = /^(?<number>\d+(\.\d+)?)(?<unit>[smhd])$/.exec(value)?.groups ?? {}
  const seconds = Number(number) * (UNIT_SECONDS[unit] ?? Number.NaN)
  if (!Number.isFinite(seconds))
    throw new Error(`${JSON.stringify(value)} is not a duration; for example 90s, 30m or 2h`)
  return seconds
}

/** Parses `key=value`. */
export const label: Read<readonly [string, string]> = (value) => {
  const { key, text: content } = /^(?<key>[^=]+)=(?<text>.*)$/s.exec(value)?.groups ?? {}
  if (key === undefined || content === undefined)
    throw new Error(`${JSON.stringify(value)} is not KEY=VALUE; for example tenant=acme`)
  return [key, content]
}

const MAX_ENVIRONMENT_NAME = 32

export const environmentName: Read<string> = (value) => {
  if (value.trim() === value && /^[^\p{C}\p{Z}](?:[^\p{C}]*)$/u.test(value) && value.length <= MAX_ENVIRONMENT_NAME)
    return value
  throw new Error(
    `${JSON.stringify(value)} is not a name of 1 to ${MAX_ENVIRONMENT_NAME} visible characters; for example production`,
  )
}

/** Parses comma-separated origins as a browser writes them, such as `https://app.example.com`. */
export const origins: Read<readonly string[]> = (value) =>
  list(value).map((each) => {
    const url = URL.parse(each)
    const isWeb = url !== null && /^https?:$/.test(url.protocol) && !url.host.includes('*')
    if (isWeb && url.origin === each) return each
    const hint = isWeb ? url.origin : 'https://app.example.com'
    throw new Error(`${JSON.stringify(each)} is not the exact origin of a page; for example ${hint}`)
  })

export function oneOf<const T extends string>(...known: readonly T[]): Read<T> {
  return (value) => {
    const found = known.find((each) => each === value)
    if (found === undefined) throw new Error(`${JSON.stringify(value)} is not known; known: ${known.join(', ')}`)
    return found
  }
}

export const logLevel: Read<LogLevel> = oneOf(...LOG_LEVELS)

export const httpUrl: Read<URL> = (value) => {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol))
    // The message does not quote the URL, which may contain a password.
    throw new Error('is not an http or https URL; for example http://127.0.0.1:8080')
  if (url.username !== '' || url.password !== '') throw new Error('must not contain a user name or a password')
  return url
}

/** Parses the URL of a master, to which /api/v1 is appended. */
export const masterUrl: Read<URL> = (value) => {
  const url = httpUrl(value)
  if (url.search !== '' || url.hash !== '') throw new Error('must not have a query or a fragment')
  return url
}

export const list: Read<readonly string[]> = (value) =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** Validates comma-separated CIDRs, or `none`. Returns the text itself, which is passed on to automations. */
export const cidrs: Read<string> = (value) => {
  const wrong = (value.trim() === 'none' ? [] : list(value)).find((each) => !isCidr(each))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a CIDR; for example 10.0.0.0/8`)
  return value
}

function isCidr(cidr: string): boolean {
  const [address = '', bits = ''] = cidr.split('/')
  const family = isIP(address)
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}

const KUBE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export const kubeName: Read<string> = (value) => {
  if (!KUBE_NAME.test(value))
    throw new Error(
      `${JSON.stringify(value)} is not a valid Kubernetes name: ` +
        'use lower-case letters, digits and dashes, at most 63 characters; for example team-a',
    )
  return value
}

export const kubeNames: Read<readonly string[]> = (value) => [...new Set(list(value).map(kubeName))]

const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

/** Parses names of objects such as Secrets, which may be longer than names of namespaces and may contain dots. */
export const objectNames: Read<readonly string[]> = (value) => {
  const names = [...new Set(list(value))]
  const wrong = names.find((each) => !OBJECT_NAME.test(each))
  if (wrong !== undefined)
    throw new Error(
      `${JSON.stringify(wrong)} is not a valid Secret name: ` +
        'use lower-case letters, digits, dashes and dots, at most 253 characters; for example muster-tokens',
    )
  return names
}

export const automationType: Read<string> = (value) => {
  if (!new RegExp(TYPE_PATTERN).test(value))
    throw new Error(
      `${JSON.stringify(value)} is not a valid automation type: ` +
        'use lower-case letters, digits and dashes; for example http-probe',
    )
  return value
}

export const workerId: Read<string> = (value) => {
  if (!isWorkerId(value))
    throw new Error(
      `${JSON.stringify(value)} is not a valid worker ID: ` +
        'use 1 to 256 characters without "/" and control characters, not "." or ".."',
    )
  return value
}

export const workerLabels: Read<WorkerLabels> = parseWorkerLabels

export const flag: Read<boolean> = (value) => {
  if (['1', 'true', 'yes', 'on'].includes(value)) return true
  if (['0', 'false', 'no', 'off', ''].includes(value)) return false
  throw new Error(`${JSON.stringify(value)} is not 1 or 0`)
}
