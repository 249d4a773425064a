/**
 * @module dashboard/api/client
 * Calls the master's REST API with one token. Nothing is retried here: reads are polled anyway, and a write without a
 * response is reported as unknown. All calls share one RefusalLimiter: while the master or a proxy rejects requests,
 * fewer than three requests a second are sent (D67).
 */
import { isRefusalStatus, parseRetryAfter, type RefusalLimiter } from '../../runtime/backoff/index.ts'
import { KnownResponses } from './known-responses.ts'
import { Problem, problemOf, retryAfterSecondsOf } from './problem.ts'
import type { ServerClock } from './server-clock.ts'

const READ_WITHIN_MS = 15_000
const WRITE_WITHIN_MS = 30_000
const NEVER = new AbortController().signal

/** A list repeats its parameter. */
export type Query = Readonly<Record<string, string | number | readonly string[]>>

interface ApiResponse<T> {
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
  get<T>(path: readonly string[], query?: Query, signal?: AbortSignal): Promise<ApiResponse<T>>
  /** @throws {Problem} */
  send<T>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: readonly string[],
    options?: WriteOptions,
  ): Promise<ApiResponse<T>>
  /** Opens a response whose body is read incrementally: the event stream, or large statistics. @throws {Problem} */
  stream(
    path: readonly string[],
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    query?: Query,
  ): Promise<ApiStream>
}

export interface ApiDeps {
  /** Ends in a slash: `https://host/prefix/api/v1/`. */
  readonly base: URL
  readonly token: string
  readonly clock: ServerClock
  readonly localMs: () => number
  /** Limits the request rate while requests are rejected. */
  readonly refusals: RefusalLimiter
  /** Called after a response with status 401 (token) or 403 (permission). */
  readonly onUnauthorized?: () => void
  /** Returns the actor name for the config history (D39). */
  readonly actor?: () => string
  /** Called with the status of each response; null if there was no response. */
  readonly onResponse?: (status: number | null) => void
}

/** A response whose body is read incrementally. */
interface ApiStream {
  readonly body: ReadableStream<Uint8Array>
  readonly epoch: string | null
}

export function createApi(deps: ApiDeps): Api {
  const known = new KnownResponses()
  return {
    get: (path, query = {}, signal) => read(deps, known, addressOf(deps.base, path, query), signal),
    send: (method, path, options = {}) => write(deps, method, addressOf(deps.base, path, {}), options),
    stream: (path, headers, signal, query = {}) => openStream(deps, addressOf(deps.base, path, query), headers, signal),
  }
}

/** Encodes every segment: IDs may contain any character except a slash. */
export function addressOf(base: URL, path: readonly string[], query: Query): URL {
  const url = new URL(path.map(encodeURIComponent).join('/'), base)
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) url.searchParams.append(name, String(each))
  return url
}

async function openStream(
  { token, clock, localMs, onUnauthorized, refusals }: ApiDeps,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ApiStream> {
  await refusals.turn(signal)
  const sentMs = localMs()
  const response = await fetch(url, {
    signal,
    credentials: 'omit',
    redirect: 'error',
    headers: { ...headers, authorization: `Bearer ${token}` },
  }).catch((cause: unknown) => {
    throw new Problem('the master did not respond', { cause })
  })
  clock.sample(response.headers.get('date'), sentMs, localMs())
  noteRefusal(refusals, response)
  if (response.status === 401 || response.status === 403) onUnauthorized?.()
  if (response.ok && response.body !== null) return { body: response.body, epoch: response.headers.get('muster-epoch') }
  const json = parsed(await response.text().catch(() => ''))
  throw problemOf(response.status, response.headers, json.ok ? json.value : null)
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms)
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal])
}

/** Reads a URL. A body that has not changed since the last read is not sent again. */
async function read<T>(deps: ApiDeps, known: KnownResponses, url: URL, left?: AbortSignal): Promise<ApiResponse<T>> {
  const before = known.get(url.href)
  const headers = before === undefined ? {} : { 'if-none-match': before.tag }
  const { tag, ...response } = await call<T>(deps, 'GET', url, { headers, unchanged: before?.body }, left)
  known.keep(url.href, tag, response.body)
  return response
}

async function write<T>(deps: ApiDeps, method: string, url: URL, options: WriteOptions): Promise<ApiResponse<T>> {
  const { tag: _tag, ...response } = await call<T>(deps, method, url, options)
  return response
}

interface CallOptions extends WriteOptions {
  /** The body that the status 304 stands for. */
  readonly unchanged?: unknown
}

async function call<T>(
  deps: ApiDeps,
  method: string,
  url: URL,
  { body, headers, unchanged }: CallOptions,
  left?: AbortSignal,
): Promise<ApiResponse<T> & { readonly tag: string | null }> {
  await deps.refusals.turn(left ?? NEVER)
  // The timeout starts here: the time spent waiting for the limiter does not count.
  const signal = within(method === 'GET' ? READ_WITHIN_MS : WRITE_WITHIN_MS, left)
  const { status, response, text } = await fetchText(deps, method, url, { body, headers: headers ?? {} }, signal)
  const sent = { epoch: response.headers.get('muster-epoch'), tag: response.headers.get('etag') }
  if (status === 304 && unchanged !== undefined) return { body: unchanged as T, ...sent }
  const json = parsed(text)
  if (response.ok && json.ok) return { body: json.value as T, ...sent }
  if (status === 401 || status === 403) deps.onUnauthorized?.()
  if (!response.ok && json.ok) throw problemOf(status, response.headers, json.value)
  throw new Problem(`the response with status ${status} is not JSON; check that a Muster master serves this address`, {
    status,
    requestId: response.headers.get('muster-request-id'),
    retryAfterSeconds: retryAfterSecondsOf(response.headers),
  })
}

async function fetchText(
  { token, clock, localMs, actor, onResponse, refusals }: ApiDeps,
  method: string,
  url: URL,
  { body, headers }: WriteOptions,
  signal: AbortSignal,
): Promise<{ status: number; response: Response; text: string }> {
  const sentMs = localMs()
  try {
    const response = await fetch(url, {
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
    clock.sample(response.headers.get('date'), sentMs, localMs())
    noteRefusal(refusals, response)
    const text = await response.text()
    onResponse?.(response.status)
    return { status: response.status, response, text }
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
