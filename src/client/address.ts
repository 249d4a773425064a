/**
 * @module client/address
 * Where a master is. A path prefix in its URL (a reverse proxy's) is kept; query, fragment and credentials have no place
 * there. Segments of paths are encoded: names hold any character.
 */
import { API_PREFIX } from '../protocol/index.ts'

export interface MasterAddress {
  /** Scheme, host and port, as an HTTP client wants them. */
  readonly origin: string
  /** Without a slash at its end; '' for most. */
  readonly prefix: string
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** @throws TypeError when `masterUrl` is no http(s) URL, or carries credentials, a query or a fragment. */
export function masterAddress(masterUrl: string): MasterAddress {
  const url = URL.parse(masterUrl)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError('the master URL is not an http or https URL; give one like http://master:8080')
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the master URL carries credentials; the token is a setting of its own')
  if (url.search !== '' || url.hash !== '')
    throw new TypeError('the master URL has a query or a fragment; leave them out')
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** A path below /api/v1. */
export function apiPath(segments: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `${API_PREFIX}/${segments.map(encodeURIComponent).join('/')}${given.length === 0 ? '' : `?${given.join('&')}`}`
}
