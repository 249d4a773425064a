/**
 * @module client/response
 * Parses responses. A response comes from a master if it is JSON and, below /api/v1, names the epoch of the store
 * (D47). Anything else is the page of a proxy or of another service, whatever its status, and is never used as data.
 */
import { API_PREFIX, type FieldError } from '../protocol/plain.ts'
import { cappedRetryAfterMs, parseRetryAfter } from '../runtime/backoff/index.ts'
import { codeOfStatus, MasterError, type MasterErrorFacts } from './master-error.ts'

/** A response as it was received. */
export interface RawResponse {
  readonly status: number
  /** Returns a header by its lower-case name; undefined if it is missing. */
  readonly header: (name: string) => string | undefined
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

/** How a response is read. */
interface Reading {
  /** The path of the request. */
  readonly path: string
  /** An HTTP status besides 2xx whose body is data, such as 503 of `/readyz`. */
  readonly alsoGood: number | undefined
  /** Wall-clock time in milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly nowMs: number
  /** Parses the body. @throws {SyntaxError} when it is not JSON. */
  readonly parse: (text: string) => unknown
}

/**
 * Reads a response.
 * @param reading How it is read.
 * @param response The whole response.
 * @returns the parsed body.
 * @throws {MasterError} for every other status than 2xx, and for a response that is not from a master.
 */
export function readResponse<T>(reading: Reading, response: RawResponse): MasterResponse<T> {
  const { path, alsoGood, nowMs, parse } = reading
  const { status, header } = response
  const isGood = (status >= 200 && status < 300) || status === alsoGood
  const requestId = header('muster-request-id')
  const epoch = header('muster-epoch') ?? ''
  const body = parsed(response.text, parse)
  const requestedMs = parseRetryAfter(header('retry-after'), nowMs)
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
  if (isGood) return { body: body as T, epoch, requestId, respondedAtMs: Date.parse(header('date') ?? '') || undefined }
  throw errorOf(status, body, { requestId, retryAfterMs })
}

/** undefined: not JSON. */
function parsed(text: string, parse: Reading['parse']): unknown {
  try {
    return parse(text)
  } catch {
    return undefined // The caller names what came instead.
  }
}

const SHOWN_CHARS = 80

function describe({ status, header, text }: RawResponse): string {
  const location = header('location')
  if (location !== undefined)
    return `HTTP ${status}, a redirect to ${hostOf(location)}; use the URL of the master itself`
  const kind = header('content-type') ?? 'without a content type'
  const start = text
    .replaceAll(/(?:<[^>]*>|[\p{Cc}\s])+/gu, ' ')
    .trim()
    .slice(0, SHOWN_CHARS)
  return (
    `HTTP ${status}, ${kind}${start === '' ? ', empty' : `, "${start}"`}; ` +
    'check the URL of the master and the proxies in front of it'
  )
}

/** The host alone, since the query of a location may contain a secret. */
const hostOf = (location: string): string => URL.parse(location)?.host ?? 'another path'

/**
 * Creates the error that a master describes.
 * @param status HTTP status, 100 to 599.
 * @param body The body of a failed response, or the error of one item of a batch.
 * @param facts What is known of the response.
 */
export function errorOf(
  status: number,
  body: unknown,
  facts: Pick<MasterErrorFacts, 'requestId' | 'retryAfterMs'>,
): MasterError {
  const { detail, code } = (body ?? {}) as { detail?: unknown; code?: unknown }
  const faults = Array.isArray(detail) ? detail.filter(isFault) : []
  const described = typeof detail === 'string' ? detail : `HTTP ${status} without an explanation`
  const sentences = faults.map(({ path, message }) => `${path || 'the value'} ${message}`)
  const sentence = sentences.join('; ') || described
  const isUpgrading = code === 'UPGRADING'
  return new MasterError(codeOfStatus(status), sentence, { ...facts, status, faults, isUpgrading })
}

function isFault(value: unknown): value is FieldError {
  if (typeof value !== 'object' || value === null) return false
  const { path, message } = value as Partial<FieldError>
  return typeof path === 'string' && typeof message === 'string'
}
