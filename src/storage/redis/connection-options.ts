/**
 * @module storage/redis/connection-options
 * Defines how a connection is configured, and turns it into the options of ioredis: user, password, database and TLS.
 */
import type { RedisOptions } from 'ioredis'
import type { Clock, Log, Random, Time } from '../../runtime/index.ts'
import type { Migration } from './meta.ts'
import { isLoopback, type StoreUrl } from './url.ts'

/** PEM texts. Without `ca` the authorities of the system are trusted. */
interface TlsTexts {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface ConnectionOptions {
  readonly url: StoreUrl
  /** Takes precedence over the password in the URL. Read again for each connection, so that it may be rotated. */
  readonly password?: (() => string | undefined) | undefined
  /** The password of the sentinels themselves. */
  readonly sentinelPassword?: (() => string | undefined) | undefined
  readonly tls?: TlsTexts | undefined
  readonly time: Time
  readonly random: Random
  readonly log?: Log | undefined
  /** For tests: replaces the time of the store's server. */
  readonly clock?: Clock | undefined
  /** For tests: the migrations of another release. */
  readonly migrations?: readonly Migration[] | undefined
}

/** @returns the options of ioredis that all connections to this store share. The password is read now. */
export function redisOptionsOf(options: ConnectionOptions): RedisOptions {
  const { url, tls, sentinelPassword } = options
  const password = passwordOf(options)
  const ofSentinels = sentinelPassword?.()
  return {
    db: url.database,
    keyPrefix: '',
    ...(url.user === null ? {} : { username: url.user }),
    ...(password === null ? {} : { password }),
    ...(ofSentinels === undefined ? {} : { sentinelPassword: ofSentinels }),
    ...(url.tls && url.form === 'sentinel' ? { sentinelTLS: definedOf(tls) } : {}),
    ...(url.tls ? { tls: { ...definedOf(tls), ...serverNameOf(url) } } : {}),
  }
}

/** @returns a warning if the password would be sent in clear to another host; an empty list otherwise. */
export function exposureWarnings(options: ConnectionOptions): string[] {
  const { url } = options
  const isExposed = !url.tls && passwordOf(options) !== null && !url.hosts.every(isLoopback)
  return isExposed ? ['the password is sent unencrypted; use kvstores:// (TLS)'] : []
}

function passwordOf({ password, url }: ConnectionOptions): string | null {
  return password?.() ?? url.password
}

/** The name for SNI, for a single server with a host name; an IP address is not a valid one. */
function serverNameOf({ form, hosts: [first] }: StoreUrl): { servername?: string } {
  if (first === undefined || form !== 'single' || /^[\d.:]+$/.test(first.host)) return {}
  return { servername: first.host }
}

const definedOf = (tls: TlsTexts | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(tls ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined))
