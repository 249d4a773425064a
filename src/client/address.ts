/**
 * @module client/address
 * Builds the URLs of requests to a master. A path prefix in its URL, such as that of a reverse proxy, is kept. Query,
 * fragment and credentials are rejected. Path segments are encoded, because names may contain any character.
 */
import { API_PREFIX } from '../protocol/plain.ts'

/** The URL of a master, split. */
export interface MasterAddress {
  /** Scheme, host and port, as an HTTP client wants them. */
  readonly origin: string
  /** Path prefix without a trailing slash; usually ''. */
  readonly prefix: string
}

/** The query of a request, by name. A list repeats the parameter. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/**
 * Splits the URL of a master.
 * @param masterUrl Such as `https://example.com/muster`.
 * @returns its origin and path prefix.
 * @throws {TypeError} when it is not http or https, or has credentials, a query or a fragment.
 */
export function masterAddress(masterUrl: string): MasterAddress {
  const url = URL.parse(masterUrl)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError('the master URL is not an http or https URL; for example http://master:8080')
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '')
    throw new TypeError(
      'the master URL must not have credentials, a query or a fragment; the token is a separate setting',
    )
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/**
 * Builds a path below /api/v1.
 * @param segments Not encoded; may contain any character.
 * @param query Values that are undefined are left out; none if omitted.
 */
export function apiPath(segments: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value = []]) => {
    const values = typeof value === 'object' ? value : [value]
    return values.map((each) => `${name}=${encodeURIComponent(each)}`)
  })
  return `${API_PREFIX}/${segments.map(encodeURIComponent).join('/')}${given.length === 0 ? '' : `?${given.join('&')}`}`
}
