/**
 * @module dashboard/api/client
 * Calls the master's REST API with one token. Nothing is retried here: reads are polled anyway, and a write without a
 * response is reported as unknown. All calls share one RefusalLimiter: while the master or a proxy rejects requests,
 * fewer than three requests a second are sent (D67).
 */
import { isRefusalStatus, parseRetryAfter, type RefusalLimiter } from '../../runtime/backoff/index.ts'
import { Problem, problemOf, retryAfterSecondsOf } from './problem.ts'
import type { ServerClock } from './server-clock.ts'

const READ_WITHIN_MS = 15_000
const WRITE_WITHIN_MS = 30_000
const NEVER = new AbortController().signal

export type Query = Readonly<Record<string, string | number>>

interface Reply<T> {
  readonly body: T
  /** The epoch of the master's store (`Muster-Epoch`); null if a proxy removed the header. */
  readonly epoch: string | null
}

interface WriteOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Api {
  /** @throws {Problem} */
  get<T>(path: readonly string[], query?: Query, signal?: AbortSignal): Promise<Reply<T>>
  /** @throws {Problem} */
  send<T>(method: 'POST' | 'PATCH' | 'DELETE', path: readonly string[], options?: WriteOptions): Promise<Reply<T>>
  /** Opens a response whose body is read incrementally: the event stream, or large statistics. @throws {Problem} */
  stream(
    path: readonly string[],
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    query?: Query,
  ): Promise<OpenReply>
}

export interface ApiParts {
  /** Ends in a slash: `https://host/prefix/api/v1/`. */
  readonly base: URL
  readonly token: string
  readonly clock: ServerClock
  readonly localMs: () => number
  /** Limits the request rate while requests are rejected. */
  readonly refusals: RefusalLimiter
  /** Called after a response with status 401 (token) or 403 (permission). */
  readonly onRefused?: () => void
  /** Returns the actor name for the config history (D39). */
  readonly actor?: () => string
  /** Called with the status of each response; null if there was no response. */
  readonly onResponse?: (status: number | null) => void
}

/** A response whose body is read incrementally. */
interface OpenReply {
  readonly body: ReadableStream<Uint8Array>
  readonly epoch: string | null
}

export function createApi(parts: ApiParts): Api {
  return {
    get: (path, query = {}, signal) => call(parts, 'GET', addressOf(parts.base, path, query), {}, signal),
    send: (method, path, options = {}) => call(parts, method, addressOf(parts.base, path, {}), options),
    stream: (path, headers, signal, query = {}) =>
      openStream(parts, addressOf(parts.base, path, query), headers, signal),
  }
}

/** Encodes every segment: IDs may contain any character except a slash. */
export function addressOf(base: URL, path: readonly string[], query: Query): URL {
  const url = new URL(path.map(encodeURIComponent).join('/'), base)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
  return url
}

async function openStream(
  { token, clock, localMs, onRefused, refusals }: ApiParts,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenReply> {
  await refusals.turn(signal)
  const sentMs = localMs()
  const answer = await fetch(url, {
    signal,
    credentials: 'omit',
    redirect: 'error',
    headers: { ...headers, authorization: `Bearer ${token}` },
  }).catch((cause: unknown) => {
    throw new Problem('the master did not respond', { cause })
  })
  clock.sample(answer.headers.get('date'), sentMs, localMs())
  noteRefusal(refusals, answer)
  if (answer.status === 401 || answer.status === 403) onRefused?.()
  if (answer.ok && answer.body !== null) return { body: answer.body, epoch: answer.headers.get('muster-epoch') }
  const json = parsed(await answer.text().catch(() => ''))
  throw problemOf(answer.status, answer.headers, json.ok ? json.value : null)
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms)
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal])
}

async function call<T>(
  parts: ApiParts,
  method: string,
  url: URL,
  { body, headers }: WriteOptions,
  left?: AbortSignal,
): Promise<Reply<T>> {
  await parts.refusals.turn(left ?? NEVER)
  // The timeout starts here: the time spent waiting for the limiter does not count.
  const signal = within(method === 'GET' ? READ_WITHIN_MS : WRITE_WITHIN_MS, left)
  const { status, answer, text } = await answered(parts, method, url, { body, headers: headers ?? {} }, signal)
  const json = parsed(text)
  if (answer.ok && json.ok) return { body: json.value as T, epoch: answer.headers.get('muster-epoch') }
  if (status === 401 || status === 403) parts.onRefused?.()
  if (!answer.ok && json.ok) throw problemOf(status, answer.headers, json.value)
  throw new Problem(`the response with status ${status} is not JSON; check that a Muster master serves this address`, {
    status,
    requestId: answer.headers.get('muster-request-id'),
    retryAfterSeconds: retryAfterSecondsOf(answer.headers),
  })
}

async function answered(
  { token, clock, localMs, actor, onResponse, refusals }: ApiParts,
  method: string,
  url: URL,
  { body, headers }: WriteOptions,
  signal: AbortSignal,
): Promise<{ status: number; answer: Response; text: string }> {
  const sentMs = localMs()
  try {
    const answer = await fetch(url, {
      method,
      signal,
      credentials: 'omit',
      redirect: 'error',
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(method === 'PATCH' && actor !== undefined ? { 'muster-actor': actor() } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    clock.sample(answer.headers.get('date'), sentMs, localMs())
    noteRefusal(refusals, answer)
    const text = await answer.text()
    onResponse?.(answer.status)
    return { status: answer.status, answer, text }
  } catch (cause) {
    if (!isLeft(signal)) onResponse?.(null)
    throw new Problem(
      method === 'GET' ? 'the master did not respond' : 'the master did not respond; the request may have been applied',
      { cause },
    )
  }
}

function noteRefusal(refusals: RefusalLimiter, { status, headers }: Response): void {
  if (isRefusalStatus(status)) refusals.refused(parseRetryAfter(headers.get('retry-after'), Date.now()))
  else refusals.served()
}

/** Whether the caller cancelled the request; a timeout does not count. */
const isLeft = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && (reason as Partial<DOMException> | undefined)?.name !== 'TimeoutError'

function parsed(text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false } // The caller reports it with the status.
  }
}
