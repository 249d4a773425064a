/**
 * @module client/response
 * Parses responses. A response comes from a master if it is JSON and, below /api/v1, names the epoch of the store
 * (D47). Anything else is the page of a proxy or of another service, whatever its status, and is never used as data.
 */
import { API_PREFIX, withSourceNumbers, type FieldError } from '../protocol/index.ts'
import { cappedRetryAfterMs, parseRetryAfter } from '../runtime/index.ts'
import { codeOfStatus, MasterError } from './master-error.ts'

/** A response as it was received. */
export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** A successful response of a master. */
export interface MasterResponse<T> {
  /** The body, unchanged. */
  readonly body: T
  /** The epoch of the store, which changes when it loses its state (D15); '' outside of /api/v1. */
  readonly epoch: string
  readonly requestId: string | undefined
  /** Time of the response by the clock of the master, to the second; undefined without a `Date` header. */
  readonly respondedAtMs: number | undefined
}

/**
 * Reads a response.
 * @param path The path of the request.
 * @param response The whole response.
 * @param nowMs Wall-clock time in milliseconds since 1970, for a `Retry-After` that is a date.
 * @param alsoGood An HTTP status besides 2xx whose body is data, such as 503 of `/readyz`.
 * @returns the parsed body, with numbers that a double cannot hold as their source text (D75).
 * @throws {MasterError} for every other status, and for a response that is not from a master.
 */
export function readResponse<T>(
  path: string,
  response: RawResponse,
  nowMs: number,
  alsoGood?: number,
): MasterResponse<T> {
  const { status, headers } = response
  const isGood = (status >= 200 && status < 300) || status === alsoGood
  const requestId = first(headers['muster-request-id'])
  const epoch = first(headers['muster-epoch']) ?? ''
  const body = parsed(response.text)
  const requestedMs = parseRetryAfter(headers['retry-after'], nowMs)
  const retryAfterMs = requestedMs === undefined ? undefined : cappedRetryAfterMs(requestedMs)
  if (body === undefined || (epoch === '' && path.includes(`${API_PREFIX}/`))) {
    const code = codeOfStatus(status)
    // A 404 of another service does not mean that a worker is unknown, nor a 401 that the token is wrong.
    throw new MasterError(
      code === 'UNAVAILABLE' || code === 'RATE_LIMITED' ? code : 'FOREIGN',
      `the response did not come from a Muster master: ${describe(response)}`,
      { status, requestId, retryAfterMs },
    )
  }
  if (isGood) return { body: body as T, epoch, requestId, respondedAtMs: dateOf(first(headers['date'])) }
  const { sentence, faults } = detailOf(body, status)
  throw new MasterError(codeOfStatus(status), sentence, { status, faults, requestId, retryAfterMs })
}

/**
 * A number that a double cannot hold stays as its source text, so that it is shown as it is (D75). undefined: not JSON.
 */
function parsed(text: string): unknown {
  try {
    return withSourceNumbers(text, JSON.parse(text))
  } catch {
    return undefined // The caller names what came instead.
  }
}

const SHOWN_CHARS = 80

function describe({ status, headers, text }: RawResponse): string {
  const location = first(headers['location'])
  if (location !== undefined)
    return `HTTP ${status}, a redirect to ${hostOf(location)}; use the URL of the master itself`
  const kind = first(headers['content-type']) ?? 'without a content type'
  const start = text
    .replaceAll(/<[^>]*>|[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, SHOWN_CHARS)
  return (
    `HTTP ${status}, ${kind}${start === '' ? ', empty' : `, "${start}"`}; ` +
    'check the URL of the master and the proxies in front of it'
  )
}

/** The host alone, since the query of a location may contain a secret. */
const hostOf = (location: string): string => URL.parse(location)?.host ?? 'another path'

function detailOf(body: unknown, status: number): { sentence: string; faults: readonly FieldError[] } {
  const detail = typeof body === 'object' && body !== null ? (body as { detail?: unknown }).detail : undefined
  const faults = Array.isArray(detail) ? detail.filter(isFault) : []
  if (faults.length > 0)
    return {
      sentence: faults.map(({ path, message }) => `${path === '' ? 'the value' : path} ${message}`).join('; '),
      faults,
    }
  return { sentence: typeof detail === 'string' ? detail : `HTTP ${status} without an explanation`, faults }
}

function isFault(value: unknown): value is FieldError {
  if (typeof value !== 'object' || value === null) return false
  const { path, message } = value as Partial<FieldError>
  return typeof path === 'string' && typeof message === 'string'
}

function first(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function dateOf(text = ''): number | undefined {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
