/** @module cmd/readers  How the text of a setting becomes its value; each throws a sentence with an example. */
import { LOG_LEVELS, type LogLevel } from '../runtime/index.ts'
import { isWorkerId, TYPE_PATTERN } from '../protocol/index.ts'
import type { Read } from './settings.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
}

export const text: Read<string> = (value) => value

export const hostPort: Read<HostPort> = (value) => {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:\s]+)):(?<port>\d{1,5})$/.exec(value)
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
    throw new Error('is not an http or https URL; for example http://127.0.0.1:8080') // Not shown: a password may stand in it.
  if (url.username !== '' || url.password !== '') throw new Error('must not hold a user or a password')
  return url
}

/** What stands before /api/v1. */
export const masterUrl: Read<URL> = (value) => {
  const url = httpUrl(value)
  if (url.search !== '' || url.hash !== '') throw new Error('has a query or a fragment; leave them out')
  return url
}

export const list: Read<readonly string[]> = (value) =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

const KUBE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export const kubeName: Read<string> = (value) => {
  if (!KUBE_NAME.test(value))
    throw new Error(
      `${JSON.stringify(value)} is not a name in Kubernetes: lower-case letters, digits and dashes, at most 63; for example team-a`,
    )
  return value
}

export const kubeNames: Read<readonly string[]> = (value) => [...new Set(list(value).map(kubeName))]

export const automationType: Read<string> = (value) => {
  if (!new RegExp(TYPE_PATTERN).test(value))
    throw new Error(
      `${JSON.stringify(value)} is not an automation type: lower-case letters, digits and dashes; for example http-probe`,
    )
  return value
}

export const workerId: Read<string> = (value) => {
  if (!isWorkerId(value))
    throw new Error(
      `${JSON.stringify(value)} cannot name a worker: 1 to 256 characters without "/" and control characters, not "." or ".."`,
    )
  return value
}

export const flag: Read<boolean> = (value) => {
  if (['1', 'true', 'yes', 'on'].includes(value)) return true
  if (['0', 'false', 'no', 'off', ''].includes(value)) return false
  throw new Error(`${JSON.stringify(value)} is not 1 or 0`)
}
