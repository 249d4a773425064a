/**
 * @module client/answer
 * Reads what came back. An answer is a master's when it is JSON and, below /api/v1, names the epoch of the store (D47);
 * anything else is the page of a proxy or of another service, however friendly its status, and is never taken for data.
 */
import { API_PREFIX, type FieldError } from '../protocol/index.ts'
import { codeOfStatus, MasterError } from './master-error.ts'

/** A longer wait is not honoured: a master asks for seconds. */
const LONGEST_WAIT_MS = 60_000

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Reply<T> {
  /** As the wire has it. */
  readonly body: T
  /** The life of the store (D15); '' outside of /api/v1. */
  readonly epoch: string
  readonly requestId: string | undefined
  /** When it was answered, by the master's clock, to the second; undefined when it did not say. */
  readonly answeredMs: number | undefined
}

/**
 * The body of a success.
 * @param alsoGood a status beside 2xx whose body is data (`/readyz` answers 503).
 * @throws {MasterError}
 */
export function readAnswer<T>(path: string, answer: RawAnswer, nowMs: number, alsoGood?: number): Reply<T> {
  const { status, headers } = answer
  const good = (status >= 200 && status < 300) || status === alsoGood
  const requestId = first(headers['muster-request-id'])
  const epoch = first(headers['muster-epoch']) ?? ''
  const body = parsed(answer.text)
  const retryAfterMs = retryAfterOf(first(headers['retry-after']), nowMs)
  if (body === undefined || (epoch === '' && path.includes(`${API_PREFIX}/`))) {
    const code = codeOfStatus(status)
    // A 404 of somebody else says nothing about a worker, a 401 nothing about our token.
    throw new MasterError(
      code === 'UNAVAILABLE' || code === 'RATE_LIMITED' ? code : 'FOREIGN',
      `the answer did not come from a Muster master: ${describe(answer)}`,
      { status, requestId, retryAfterMs },
    )
  }
  if (good) return { body: body as T, epoch, requestId, answeredMs: dateOf(first(headers['date'])) }
  const { sentence, faults } = detailOf(body, status)
  throw new MasterError(codeOfStatus(status), sentence, { status, faults, requestId, retryAfterMs })
}

/** undefined: not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The caller names what came instead.
  }
}

const SHOWN_CHARS = 80

function describe({ status, headers, text }: RawAnswer): string {
  const location = first(headers['location'])
  if (location !== undefined)
    return `HTTP ${status}, a redirect to ${hostOf(location)}; name the address of the master itself`
  const kind = first(headers['content-type']) ?? 'without a content type'
  const start = text
    .replaceAll(/<[^>]*>|[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, SHOWN_CHARS)
  return `HTTP ${status}, ${kind}${start === '' ? ', empty' : `, "${start}"`}; is this the address of a master, and what stands before it?`
}

/** A location may hold a secret in its query. */
const hostOf = (location: string): string => URL.parse(location)?.host ?? 'another path'

function detailOf(body: unknown, status: number): { sentence: string; faults: readonly FieldError[] } {
  const detail = typeof body === 'object' && body !== null ? (body as { detail?: unknown }).detail : undefined
  const faults = Array.isArray(detail) ? detail.filter(isFault) : []
  if (faults.length > 0)
    return {
      sentence: faults.map(({ path, message }) => `${path === '' ? 'the value' : path} ${message}`).join('; '),
      faults,
    }
  return { sentence: typeof detail === 'string' ? detail : `HTTP ${status} without a reason`, faults }
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

/** @see RFC 9110 section 10.2.3 */
function retryAfterOf(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_WAIT_MS) : undefined
}
